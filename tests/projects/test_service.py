from collections.abc import Awaitable, Callable, Sequence
from uuid import uuid4

import pytest
from sqlalchemy import select

from app.access.permissions import Permission, Scope
from app.access.principal import Actor, Principal
from app.access.service import of_person
from app.db import Database, WriteSession
from app.errors import Conflict, Forbidden, Invalid, NotFound
from app.models import AuditEntry, Project, Role, User
from app.projects import service
from tests.factories import ADA
from tests.projects.people import add_person


def caller(roles: dict[Project, Role], **more: object) -> Principal:
    by_id = {project.id: role for project, role in roles.items()}
    return Principal(actor=ADA, user_id=uuid4(), roles=by_id, **more)  # type: ignore[arg-type]


async def audited(session: WriteSession) -> Sequence[tuple[str, dict[str, object]]]:
    await session.flush()
    rows = await session.scalars(select(AuditEntry).order_by(AuditEntry.id))
    return [(row.action, row.details) for row in rows]


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("Vision", "vision"),
        ("  Ünïted Räys 2 ", "united-rays-2"),
        ("a/b & c", "a-b-c"),
        ("x" * 100, "x" * 64),
    ],
)
async def test_a_short_name_is_made_from_the_name(
    sqlite_database: Database, name: str, slug: str
) -> None:
    async with sqlite_database.write() as session:
        project = await service.create(session, name=name, actor=ADA)
        assert (project.slug, project.name) == (slug, name.strip())


@pytest.mark.parametrize(
    ("name", "slug", "field"),
    [
        ("", None, "name"),
        ("two\nlines", None, "name"),
        ("日本", None, "slug"),
        ("new", None, "slug"),
        ("x", "Upper", "slug"),
        ("x", "a--b", "slug"),
        ("x", "-a", "slug"),
        ("x", "y" * 65, "slug"),
        ("x", "../up", "slug"),
        ("x", "taken", "slug"),
    ],
)
async def test_a_strange_or_taken_name_is_refused(
    sqlite_database: Database, name: str, slug: str | None, field: str
) -> None:
    async with sqlite_database.write() as session:
        await service.create(session, name="taken", actor=ADA)
        with pytest.raises(Invalid) as caught:
            await service.create(session, name=name, slug=slug, actor=ADA)
        assert caught.value.problems[0].field == field
        page = await service.list_page(session, projects=None)
        assert [row.slug for row in page.items] == ["taken"]


async def test_members_come_change_and_go_and_each_step_is_audited(database: Database) -> None:
    async with database.write() as session:
        ben = await add_person(session, "ben")
        project = await service.create(session, name="Vision", actor=ADA, administrator=ben.id)
        await add_person(session, "cy")
        await service.add_member(session, project, " cy ", Role.VIEWER, actor=ADA)
        await service.put_member(session, project, "cy", Role.MEMBER, actor=ADA)
        await service.put_member(session, project, "cy", Role.MEMBER, actor=ADA)
        members = await service.list_members(session, project)
        assert [(each.name, each.role) for each in members] == [
            ("ben", Role.ADMINISTRATOR),
            ("cy", Role.MEMBER),
        ]
        await service.remove_member(session, project, "cy", actor=ADA)
        assert [each.name for each in await service.list_members(session, project)] == ["ben"]
        await service.rename(session, project, "Vision 2", actor=ADA)
        assert await audited(session) == [
            ("project.create", {}),
            ("member.add", {"member": "cy"}),
            ("member.change", {"changed": ["role"], "member": "cy"}),
            ("member.remove", {"member": "cy"}),
            ("project.rename", {"changed": ["name"]}),
        ]


async def test_unknown_people_and_double_members_are_refused(sqlite_database: Database) -> None:
    async with sqlite_database.write() as session:
        project = await service.create(session, name="Vision", actor=ADA)
        await add_person(session, "ben")
        await service.add_member(session, project, "ben", Role.VIEWER, actor=ADA)
        for name, words in (("nobody", "no user named"), ("ben", "already")):
            with pytest.raises(Invalid, match=words):
                await service.add_member(session, project, name, Role.MEMBER, actor=ADA)
        with pytest.raises(NotFound):
            await service.remove_member(session, project, "nobody", actor=ADA)
        assert [each.role for each in await service.list_members(session, project)] == [Role.VIEWER]


@pytest.mark.parametrize("other", [None, "disabled", "enabled"])
async def test_the_last_administrator_who_can_sign_in_stays(
    database: Database, other: str | None
) -> None:
    async with database.write() as session:
        ben = await add_person(session, "ben")
        project = await service.create(session, name="Vision", actor=ADA, administrator=ben.id)
        if other:
            await add_person(session, other, is_disabled=other == "disabled")
            await service.add_member(session, project, other, Role.ADMINISTRATOR, actor=ADA)
        acts: list[Callable[[], Awaitable[object]]] = [
            lambda: service.put_member(session, project, "ben", Role.VIEWER, actor=ADA),
            lambda: service.remove_member(session, project, "ben", actor=ADA),
        ]
        for act in acts:
            if other == "enabled":
                await act()
                continue
            with pytest.raises(Conflict, match="last administrator"):
                await act()


async def test_something_new_goes_into_the_only_project_or_the_default_one(
    sqlite_database: Database,
) -> None:
    async with sqlite_database.write() as session:
        one = await service.create(session, name="One", actor=ADA)
        two = await service.create(session, name="Two", actor=ADA)
        member = caller({one: Role.MEMBER, two: Role.VIEWER})
        assert await service.choose(session, member, None) is one
        assert await service.choose(session, member, "one") is one
        with pytest.raises(Forbidden, match="member of the project"):
            await service.choose(session, member, "two")
        with pytest.raises(NotFound):
            await service.choose(session, caller({one: Role.MEMBER}), "two")
        with pytest.raises(Forbidden, match="member of a project"):
            await service.choose(session, caller({two: Role.VIEWER}), None)
        with pytest.raises(Invalid) as caught:
            await service.choose(session, caller({one: Role.MEMBER, two: Role.MEMBER}), None)
        assert caught.value.problems[0].field == "project"
        site = of_person(User(id=uuid4(), name="root", is_admin=True), [])
        assert (await service.choose(session, site, None)).slug == service.DEFAULT


async def test_lists_are_narrowed_to_what_may_be_read(sqlite_database: Database) -> None:
    async with sqlite_database.write() as session:
        one = await service.create(session, name="One", actor=ADA)
        two = await service.create(session, name="Two", actor=ADA)
        viewer = caller({one: Role.VIEWER})
        assert await service.narrow(session, viewer, None) == frozenset({one.id})
        assert await service.narrow(session, viewer, "one") == frozenset({one.id})
        for slug in ("two", "three"):
            with pytest.raises(NotFound, match=f"there is no project {slug}"):
                await service.narrow(session, viewer, slug)
        host = Principal(actor=Actor("host", "tok-1"), is_site_admin=True, scope=Scope.READ)
        assert await service.narrow(session, host, None) is None
        assert await service.narrow(session, host, "two") == frozenset({two.id})
        page = await service.list_page(session, projects=viewer.projects(Permission.READ))
        assert [row.slug for row in page.items] == ["one"]


async def test_pages_show_each_project_once_newest_first(database: Database) -> None:
    async with database.write() as session:
        for number in range(5):
            await service.create(session, name=f"p{number}", actor=ADA)
        seen: list[str] = []
        cursor = None
        while True:
            page = await service.list_page(session, projects=None, limit=2, cursor=cursor)
            seen += [row.slug for row in page.items]
            if (cursor := page.next_cursor) is None:
                break
    assert seen == ["p4", "p3", "p2", "p1", "p0"]
