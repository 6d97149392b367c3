"""Invites: who may send them, into what, and how often they work."""

import asyncio
from datetime import datetime
from typing import Any

import pytest

from app.db import Database
from app.errors import Conflict, Forbidden, Invalid, NotFound
from app.models import Role, User
from app.projects import service as projects
from app.users import service
from app.users.service import InviteState
from app.users.service.records import HOST
from tests.users.people import DAY, HOME, NOW, add_project, add_user, audited, principal


async def invite(database: Database, maker: User, project: str | None = None, **more: Any) -> str:
    who = await principal(database, maker)
    async with database.write() as session:
        _, secret = await service.create_invite(session, who, project=project, now=NOW, **more)
    return secret


async def accept(database: Database, secret: str, name: str = "eve", now: datetime = NOW) -> User:
    async with database.write() as session:
        user, _ = await service.accept_invite(
            session, secret, name=name, password_hash="h", device=HOME, now=now
        )
    return user


async def test_an_invite_makes_an_account_in_a_project(database: Database) -> None:
    ada = await add_user(database)
    await add_project(database, "maze", ada=Role.ADMINISTRATOR)
    user = await accept(database, await invite(database, ada, "maze", role=Role.VIEWER))
    who = await principal(database, user)
    assert list(who.roles.values()) == [Role.VIEWER]
    assert not who.is_site_admin
    async with database.read() as session:
        rows = await audited(session)
        [entry] = await service.list_invites(session, await principal(database, ada), "maze")
    actions = [row.action for row in rows]
    assert actions == ["invite.create", "user.create", "member.add", "session.sign_in"]
    assert (rows[2].object_kind, rows[2].object_slug) == ("project", "maze")
    assert (entry.used_by, entry.project) == ("eve", "maze")
    assert service.invite_state(entry.invite, NOW) is InviteState.USED


async def test_an_invite_into_nothing_is_for_administrators_of_the_site(
    database: Database,
) -> None:
    root, ada = await add_user(database, "root", is_admin=True), await add_user(database)
    await add_project(database, "maze", ada=Role.ADMINISTRATOR)
    with pytest.raises(Forbidden):
        await invite(database, ada)
    assert (
        await principal(database, await accept(database, await invite(database, root)))
    ).roles == {}


@pytest.mark.parametrize(
    ("role", "refusal"), [(Role.MEMBER, Forbidden), (Role.VIEWER, Forbidden), (None, NotFound)]
)
async def test_who_may_not_invite(
    database: Database, role: Role | None, refusal: type[Exception]
) -> None:
    ada = await add_user(database)
    await add_project(database, "maze", **({"ada": role} if role else {}))
    with pytest.raises(refusal):
        await invite(database, ada, "maze")
    with pytest.raises(NotFound):
        await invite(database, ada, "nothing")


async def test_an_invite_works_once(database: Database) -> None:
    root = await add_user(database, "root", is_admin=True)
    secret = await invite(database, root)
    made = await asyncio.gather(
        *(accept(database, secret, f"eve{number}") for number in range(3)), return_exceptions=True
    )
    assert sum(isinstance(each, User) for each in made) == 1
    assert sum(isinstance(each, Conflict) for each in made) == 2
    async with database.read() as session:
        assert len(await service.list_users(session)) == 2


async def test_a_name_that_is_taken_does_not_use_it_up(database: Database) -> None:
    root = await add_user(database, "root", is_admin=True)
    secret = await invite(database, root)
    with pytest.raises(Invalid, match="take another name"):
        await accept(database, secret, "Root")
    assert (await accept(database, secret)).name == "eve"


async def test_an_invite_ends_after_a_week_or_when_taken_back(database: Database) -> None:
    root = await add_user(database, "root", is_admin=True)
    who = await principal(database, root)
    late, revoked = await invite(database, root), await invite(database, root)
    async with database.write() as session:
        entry = await service.find_invite(session, revoked, NOW)
        await service.revoke_invite(session, entry.invite.slug, by=who, now=NOW)
        with pytest.raises(Conflict, match="has ended"):
            await service.revoke_invite(session, entry.invite.slug, by=who, now=NOW)
    with pytest.raises(Conflict, match="older than 7 days"):
        await accept(database, late, now=NOW + 7 * DAY)
    with pytest.raises(Conflict, match="taken back"):
        await accept(database, revoked)
    with pytest.raises(NotFound, match="whole link"):
        await accept(database, "guess")


async def test_only_whose_project_it_is_takes_an_invite_back(database: Database) -> None:
    ada, bob = await add_user(database), await add_user(database, "bob")
    await add_project(database, "maze", ada=Role.ADMINISTRATOR, bob=Role.MEMBER)
    await add_project(database, "other", bob=Role.ADMINISTRATOR)
    secret = await invite(database, ada, "maze")
    async with database.write() as session:
        slug = (await service.find_invite(session, secret, NOW)).invite.slug
        stranger = await principal(database, bob)
        with pytest.raises(NotFound):
            await service.revoke_invite(session, slug, by=stranger, now=NOW)
        with pytest.raises(Forbidden):
            await service.list_invites(session, stranger, "maze")
        await service.revoke_invite(session, slug, by=await principal(database, ada), now=NOW)


async def test_the_invites_of_who_manages_no_more_end(database: Database) -> None:
    root, ada = await add_user(database, "root", is_admin=True), await add_user(database)
    await add_user(database, "two", is_admin=True)
    for slug in ("maze", "grid", "kept"):
        await add_project(database, slug, ada=Role.ADMINISTRATOR, root=Role.ADMINISTRATOR)
    ended = [await invite(database, ada, slug) for slug in ("maze", "grid")]
    kept = [await invite(database, ada, "kept"), await invite(database, root, "maze")]
    async with database.write() as session:
        maze, grid = [await projects.get(session, slug) for slug in ("maze", "grid")]
        await projects.remove_member(session, maze, "ada", actor=HOST)
        await projects.put_member(session, grid, "ada", Role.MEMBER, actor=HOST)
    for secret in ended:
        with pytest.raises(Conflict, match="taken back"):
            await accept(database, secret)
    for at, secret in enumerate(kept):
        await accept(database, secret, f"new {at}")
    last = await invite(database, root)
    async with database.write() as session:
        user = await service.get_user(session, root.id)
        await service.set_administrator(session, user, is_admin=False)
    with pytest.raises(Conflict, match="taken back"):
        await accept(database, last)


async def test_the_note_is_one_short_line(database: Database) -> None:
    root = await add_user(database, "root", is_admin=True)
    for note in ("x" * 201, "a\nb", "\ud800"):
        with pytest.raises(Invalid):
            await invite(database, root, note=note)
