"""A token never does more, nor lives longer, than who makes it."""

from datetime import timedelta
from typing import Any

import pytest

from app.access import service as access
from app.access.permissions import Permission, Scope
from app.access.principal import Principal
from app.db import Database
from app.errors import Forbidden, Invalid, NotFound
from app.models import ApiToken, Role, User
from app.users import service
from tests.users.people import DAY, NOW, add_project, add_user, audited, principal

ALL = tuple(Scope)


async def make(
    database: Database, maker: Principal, scope: Scope = Scope.READ, **more: Any
) -> tuple[ApiToken, Principal]:
    async with database.write() as session:
        token, secret = await service.make_token(
            session,
            maker,
            name="t",
            scope=scope,
            now=NOW,
            **more,
        )
    return token, await holder(database, secret)


async def holder(database: Database, secret: str) -> Principal:
    async with database.read() as session:
        found = await service.find_token(session, secret, NOW)
        assert found is not None
        return await access.of_token(session, *found)


async def scopes(database: Database, maker: Principal, **more: Any) -> tuple[Scope, ...]:
    """Those of which the maker may make a token."""
    made = []
    for scope in ALL:
        try:
            await make(database, maker, scope, **more)
        except Forbidden:
            continue
        made.append(scope)
    return tuple(made)


@pytest.mark.parametrize(
    ("role", "allowed"),
    [
        (None, ALL[:1]),
        (Role.VIEWER, ALL[:1]),
        (Role.MEMBER, ALL[:2]),
        (Role.ADMINISTRATOR, ALL),
    ],
)
async def test_what_a_person_may_make(
    database: Database, role: Role | None, allowed: tuple[Scope, ...]
) -> None:
    ada = await add_user(database)
    await add_project(database, "maze", **({"ada": role} if role else {}))
    who = await principal(database, ada)
    assert await scopes(database, who) == allowed
    if role:
        assert await scopes(database, who, project="maze") == allowed


async def test_no_token_of_a_project_of_others(database: Database) -> None:
    ada = await add_user(database)
    await add_project(database, "maze", ada=Role.ADMINISTRATOR)
    await add_project(database, "other")
    who = await principal(database, ada)
    for project in ("other", "nothing"):
        with pytest.raises(NotFound):
            await make(database, who, project=project)


async def test_a_token_of_one_project_is_of_no_other(database: Database) -> None:
    root = await add_user(database, "root", is_admin=True)
    maze = await add_project(database, "maze")
    other = await add_project(database, "other")
    _, bound = await make(database, await principal(database, root), Scope.ADMIN, project="maze")
    assert bound.allows(Permission.MANAGE, maze.id)
    assert not bound.allows(Permission.READ, other.id)
    assert not bound.allows(Permission.ADMINISTER)
    for project in (None, "maze", "other"):
        with pytest.raises(Forbidden, match="makes no tokens"):
            await make(database, bound, project=project)


async def test_a_token_makes_no_wider_token(database: Database) -> None:
    root = await add_user(database, "root", is_admin=True)
    who = await principal(database, root)
    for number, scope in enumerate(ALL):
        _, token = await make(database, who, scope)
        assert await scopes(database, token) == ALL[: number + 1]


async def test_a_token_makes_none_that_outlives_it(database: Database) -> None:
    root = await add_user(database, "root", is_admin=True)
    who = await principal(database, root)
    _, token = await make(database, who, Scope.ADMIN, expires_at=NOW + DAY)
    child, _ = await make(database, token)
    assert child.expires_at == NOW + DAY
    with pytest.raises(Invalid):
        await make(database, token, expires_at=NOW + 2 * DAY)


async def test_only_administrators_make_tokens_without_an_end(database: Database) -> None:
    ada = await principal(database, await add_user(database))
    root = await principal(database, await add_user(database, "root", is_admin=True))
    mine, _ = await make(database, ada)
    assert mine.expires_at == NOW + 90 * DAY
    assert (await make(database, root))[0].expires_at is None
    with pytest.raises(Invalid, match="within a year"):
        await make(database, ada, expires_at=NOW + 400 * DAY)
    assert (await make(database, root, expires_at=NOW + 400 * DAY))[0].expires_at


async def test_people_see_and_end_their_own_administrators_all(database: Database) -> None:
    people: dict[str, User] = {}
    for name, is_admin in (("ada", False), ("bob", False), ("root", True)):
        people[name] = await add_user(database, name, is_admin=is_admin)
    who = {name: await principal(database, user) for name, user in people.items()}
    tokens = {name: (await make(database, each))[0] for name, each in who.items()}
    async with database.write() as session:
        await service.create_token(session, name="machine", scope=Scope.ADMIN)
        names = {
            name: [entry.user_name for entry in await service.list_tokens_of(session, each)]
            for name, each in who.items()
        }
        with pytest.raises(NotFound):
            await service.revoke_token(session, tokens["bob"].slug, by=who["ada"])
        await service.revoke_token(session, tokens["ada"].slug, by=who["ada"])
        await service.revoke_token(session, tokens["bob"].slug, by=who["root"])
        await session.flush()
        rows = [row for row in await audited(session) if row.action == "token.revoke"]
    assert names["ada"] == ["ada"]
    assert names["bob"] == ["bob"]
    assert names["root"] == [None, "root", "bob", "ada"]
    assert [row.actor for row in rows] == ["ada", "root"]


async def test_what_is_written_down_holds_no_secret(database: Database) -> None:
    ada = await principal(database, await add_user(database))
    async with database.write() as session:
        token, secret = await service.make_token(
            session, ada, name="laptop", scope=Scope.READ, expires_at=NOW + timedelta(1), now=NOW
        )
        [row] = await audited(session)
    assert row.details == {"name": "laptop", "scope": "read", "user": "ada"}
    assert (row.object_slug, row.actor) == (token.slug, "ada")
    assert secret not in str(vars(row))
