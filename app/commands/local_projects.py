"""What `skydeck project` does, in the local database."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from app.commands.local import host_actor, in_database
from app.db import WriteSession
from app.models import Project, Role
from app.projects import service as projects
from app.projects.service import Member


def make_project(url: str, name: str, *, slug: str | None, administrator: str | None) -> str:
    """The short name of the new project. Raises `Invalid`."""

    async def make(session: WriteSession) -> str:
        project = await projects.create(session, name=name, slug=slug, actor=host_actor())
        if administrator is not None:
            await projects.add_member(
                session, project, administrator, Role.ADMINISTRATOR, actor=host_actor()
            )
        return project.slug

    return in_database(url, make)


def all_projects(url: str) -> tuple[Sequence[Project], Mapping[UUID, tuple[int, int]]]:
    """All projects, newest first, and their numbers of members and runs by id."""

    async def read(
        session: WriteSession,
    ) -> tuple[Sequence[Project], Mapping[UUID, tuple[int, int]]]:
        found: list[Project] = []
        cursor: str | None = None
        while True:
            page = await projects.list_page(session, projects=None, cursor=cursor)
            found += page.items
            if (cursor := page.next_cursor) is None:
                return found, await projects.counts(session, found)

    return in_database(url, read)


def all_members(url: str, slug: str) -> list[Member]:
    """The members of a project by name. Raises `NotFound`."""

    async def read(session: WriteSession) -> list[Member]:
        return await projects.list_members(session, await projects.get(session, slug))

    return in_database(url, read)


def put_member(url: str, slug: str, name: str, *, role: str) -> None:
    """Raises `NotFound`, `Invalid`, or `Conflict` for the last administrator."""

    async def put(session: WriteSession) -> None:
        project = await projects.get(session, slug)
        await projects.put_member(session, project, name, Role(role), actor=host_actor())

    in_database(url, put)


def remove_member(url: str, slug: str, name: str) -> None:
    """Raises `NotFound`, or `Conflict` for the last administrator."""

    async def remove(session: WriteSession) -> None:
        project = await projects.get(session, slug)
        await projects.remove_member(session, project, name, actor=host_actor())

    in_database(url, remove)
