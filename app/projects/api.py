"""JSON API of projects and their members."""

from typing import Annotated

from fastapi import Path
from sqlalchemy.ext.asyncio import AsyncSession

from app.access.principal import Principal
from app.api.deps import (
    DEFAULT_LIMIT,
    Admin,
    IdCursor,
    Limit,
    ProjectManager,
    ProjectReader,
    Reader,
    Reading,
    Writing,
)
from app.api.idempotency import Idempotent
from app.api.json_bodies import JsonRoute
from app.api.schemas import Listing
from app.models import Project
from app.projects import service
from app.projects.schemas import (
    MemberAnswer,
    MemberBody,
    ProjectAnswer,
    ProjectBody,
    ProjectChange,
)
from app.routing import Router

router = Router(tags=["projects"], route_class=JsonRoute)
PersonName = Annotated[str, Path(description="Name of a user, exactly", examples=["ada"])]


@router.get("/projects")
async def list_projects(
    caller: Reader, session: Reading, limit: Limit = DEFAULT_LIMIT, cursor: IdCursor = None
) -> Listing[ProjectAnswer]:
    """Those that you may look at, newest first."""
    shown = await service.narrow(session, caller, None)
    page = await service.list_page(session, projects=shown, limit=limit, cursor=cursor)
    counts = await service.counts(session, page.items)
    items = [ProjectAnswer.of(each, caller, counts[each.id]) for each in page.items]
    return Listing(items=items, next_cursor=page.next_cursor)


@router.post("/projects", status_code=201)
async def create_project(
    body: ProjectBody, caller: Admin, session: Writing, once: Idempotent
) -> ProjectAnswer:
    """Makes a project. You become its first administrator."""

    async def make() -> ProjectAnswer:
        project = await service.create(
            session,
            name=body.name,
            slug=body.id,
            actor=caller.actor,
            administrator=caller.user_id,
        )
        return await _answer(session, project, caller)

    return await once.create(session, caller, make, answer=ProjectAnswer)


@router.get("/projects/{project_id}")
async def get_project(project_id: str, caller: ProjectReader, session: Reading) -> ProjectAnswer:
    return await _answer(session, await service.get(session, project_id), caller)


@router.patch("/projects/{project_id}")
async def rename_project(
    project_id: str, body: ProjectChange, caller: ProjectManager, session: Writing
) -> ProjectAnswer:
    project = await service.get(session, project_id)
    await service.rename(session, project, body.name, actor=caller.actor)
    return await _answer(session, project, caller)


@router.get("/projects/{project_id}/members")
async def list_members(
    project_id: str, _caller: ProjectReader, session: Reading
) -> Listing[MemberAnswer]:
    """All members by name. Administrators of the site are in every project and not named here."""
    project = await service.get(session, project_id)
    members = await service.list_members(session, project)
    return Listing(items=[MemberAnswer.of(each) for each in members])


@router.put("/projects/{project_id}/members/{name:path}")
async def put_member(
    project_id: str, name: PersonName, body: MemberBody, caller: ProjectManager, session: Writing
) -> MemberAnswer:
    """Adds a person, or changes the role of a member. Doing it again changes nothing."""
    project = await service.get(session, project_id)
    member = await service.put_member(session, project, name, body.role, actor=caller.actor)
    return MemberAnswer.of(member)


@router.delete("/projects/{project_id}/members/{name:path}", status_code=204)
async def remove_member(
    project_id: str, name: PersonName, caller: ProjectManager, session: Writing
) -> None:
    """Takes the person's rights in the project, at once. The last administrator stays."""
    project = await service.get(session, project_id)
    await service.remove_member(session, project, name, actor=caller.actor)


async def _answer(session: AsyncSession, project: Project, caller: Principal) -> ProjectAnswer:
    counts = await service.counts(session, [project])
    return ProjectAnswer.of(project, caller, counts[project.id])
