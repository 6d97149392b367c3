"""Accounts: made, changed, shut out; sessions; resets."""

import asyncio
from typing import Any

import pytest

from app.access import uses
from app.access.permissions import Scope
from app.db import Database
from app.errors import Conflict, Invalid, NotFound, NotSignedIn
from app.models import User
from app.users import service
from app.users.service.records import HOST
from tests.queries import QueryCounter
from tests.users.people import (
    DAY,
    HOME,
    MINUTE,
    NOW,
    PASSWORD,
    QUICK,
    add_user,
    at,
    audited,
    principal,
)


async def begin(database: Database, user: User, **more: Any) -> str:
    async with database.write() as session:
        return await service.create_session(session, user, device=HOME, now=NOW, **more)


@pytest.mark.parametrize("name", ["ada", "ADA", " ada ", "ａｄａ"])
async def test_two_people_do_not_look_alike(database: Database, name: str) -> None:
    await add_user(database)
    with pytest.raises(Invalid, match="take another name"):
        async with database.write() as session:
            await service.create_user(session, name)


async def test_of_two_who_take_a_name_at_once_one_gets_it(database: Database) -> None:
    async def make() -> User:
        async with database.write() as session:
            return await service.create_user(session, "ada", now=NOW)

    made = await asyncio.gather(*(make() for _ in range(4)), return_exceptions=True)
    assert sum(isinstance(each, User) for each in made) == 1
    assert all(isinstance(each, User | Invalid) for each in made)


async def test_a_new_user_is_written_down_without_the_hash(database: Database) -> None:
    async with database.write() as session:
        await service.create_user(session, "ada", password_hash=QUICK.hash_now(PASSWORD))
        await session.flush()
        [row] = await audited(session)
    assert (row.action, row.object_slug, row.actor_key) == ("user.create", "ada", "host")
    assert "argon2" not in str(row.details)


async def test_the_last_administrator_stays(database: Database) -> None:
    ada = await add_user(database, is_admin=True)
    gone = await add_user(database, "gone", is_admin=True)
    async with database.write() as session:
        await service.disable_user(session, await service.get_user(session, gone.id))
    for act in (
        lambda session, user: service.set_administrator(session, user, False),
        service.disable_user,
    ):
        with pytest.raises(Conflict, match="only administrator"):
            async with database.write() as session:
                await act(session, await service.get_user(session, ada.id))


async def test_two_administrators_cannot_remove_each_other_at_once(database: Database) -> None:
    people = [await add_user(database, name, is_admin=True) for name in ("ada", "bob")]

    async def demote(user: User) -> None:
        async with database.write() as session:
            fresh = await service.get_user(session, user.id)
            await service.set_administrator(session, fresh, False)

    done = await asyncio.gather(*(demote(each) for each in people), return_exceptions=True)
    assert [type(each) for each in done if each] == [Conflict]
    async with database.read() as session:
        left = [user.name for user in await service.list_users(session) if user.is_admin]
    assert len(left) == 1


async def test_whoever_is_disabled_is_out_at_once_and_for_good(database: Database) -> None:
    root = await add_user(database, "root", is_admin=True)
    ada = await add_user(database, is_admin=True, password=PASSWORD)
    cookie = await begin(database, ada)
    async with database.write() as session:
        _, token = await service.create_token(session, name="t", scope=Scope.READ, user=ada)
        link = await service.create_link_for(session, "ada", NOW)
        reset = await service.create_reset_link(session, ada, now=NOW)
    maker = await principal(database, ada)
    async with database.write() as session:
        invite, secret = await service.create_invite(session, maker, now=NOW)
        user = await service.get_user(session, ada.id)
        await service.disable_user(session, user, actor=maker.actor, now=NOW)
    async with database.write() as session:
        user = await service.get_user(session, ada.id)
        await service.enable_user(session, user)
    async with database.write() as session:
        assert await service.find_session(session, cookie, NOW) is None
        assert await service.find_token(session, token) is None
        assert await service.find_link(session, link, NOW) is None
        assert await service.find_link(session, reset, NOW) is None
        with pytest.raises(Conflict, match="taken back"):
            await service.find_invite(session, secret, NOW)
    assert (
        await service.sign_in_with_password(
            database, "ada", PASSWORD, device=HOME, now=NOW, pool=QUICK
        )
    )[0].id == ada.id
    async with database.read() as session:
        actions = [row.action for row in await audited(session)]
        assert await service.get_user(session, root.id)
    assert actions[-3:] == ["user.disable", "user.enable", "session.sign_in"]
    assert invite.slug.startswith("inv-")


async def test_a_session_ends_when_it_is_not_used(database: Database) -> None:
    ada = await add_user(database)
    secret = await begin(database, ada, session_days=30)
    async with database.read() as session:
        assert await service.find_session(session, secret, NOW + 7 * DAY, idle_days=7) is None
        found = await service.find_session(session, secret, NOW + 6 * DAY, idle_days=7)
    assert found is not None
    async with database.write() as session:
        await service.touch_session(session, found[0], at("198.51.100.9"), NOW + 6 * DAY)
    async with database.read() as session:
        again = await service.find_session(session, secret, NOW + 12 * DAY, idle_days=7)
        assert await service.find_session(session, secret, NOW + 30 * DAY, idle_days=365) is None
    assert again is not None
    assert again[0].address == "198.51.100.9"


async def test_a_visit_is_noted_once_a_minute(database: Database) -> None:
    ada = await add_user(database)
    secret = await begin(database, ada)
    async with database.read() as session:
        found = await service.find_session(session, secret, NOW)
    assert found is not None
    assert not uses.is_due(found[0].seen_at, NOW + MINUTE / 2)
    assert uses.is_due(found[0].seen_at, NOW + MINUTE)


async def test_sessions_are_listed_and_ended_by_their_owner_only(database: Database) -> None:
    ada, bob = await add_user(database), await add_user(database, "bob")
    cookies = [await begin(database, each) for each in (ada, ada, ada, bob)]
    async with database.write() as session:
        mine = await service.list_sessions(session, ada, NOW)
        assert len(mine) == 3
        [other] = await service.list_sessions(session, bob, NOW)
        with pytest.raises(NotFound):
            await service.revoke_session(session, ada, other.slug, actor=HOST)
        await service.revoke_session(session, ada, mine[0].slug, actor=HOST, now=NOW)
        kept = mine[1].slug
        assert await service.end_other_sessions(session, ada, but=kept, actor=HOST, now=NOW) == 1
    async with database.read() as session:
        assert [each.slug for each in await service.list_sessions(session, ada, NOW)] == [kept]
        assert await service.find_session(session, cookies[3], NOW) is not None


async def test_a_reset_link_sets_a_password_once_and_ends_sessions(database: Database) -> None:
    ada = await add_user(database, password=PASSWORD)
    cookie = await begin(database, ada)
    async with database.write() as session:
        older = await service.create_reset_link(session, ada, now=NOW)
        link = await service.create_reset_link(session, ada, now=NOW + MINUTE)
    new = QUICK.hash_now("another four words")
    late = NOW + DAY
    for secret, now in ((older, late), (link, late + MINUTE)):
        with pytest.raises(NotSignedIn):
            async with database.write() as session:
                await service.redeem_reset(session, secret, new, device=HOME, now=now)
    async with database.write() as session:
        with pytest.raises(NotSignedIn):
            await service.redeem_link(session, link, now=late)
        user, fresh = await service.redeem_reset(session, link, new, device=HOME, now=late)
    async with database.write() as session:
        assert await service.find_session(session, cookie, late) is None
        assert await service.find_session(session, fresh, late) is not None
        with pytest.raises(NotSignedIn):
            await service.redeem_reset(session, link, new, now=late)
        actions = [row.action for row in await audited(session)]
    assert user.password_hash == new
    assert actions.count("password.reset") == 2
    assert "password.set" in actions


async def test_nobody_resets_the_password_of_who_is_disabled(database: Database) -> None:
    ada = await add_user(database)
    async with database.write() as session:
        user = await service.get_user(session, ada.id)
        await service.disable_user(session, user)
        with pytest.raises(Conflict, match="enable the account first"):
            await service.create_reset_link(session, user)


async def test_the_list_of_people_costs_two_queries(
    database: Database, count_queries: QueryCounter
) -> None:
    for name in ("bob", "Ada", "cem"):
        await begin(database, await add_user(database, name))
    with count_queries(database) as counted:
        async with database.read() as session:
            people = await service.list_people(session)
    assert counted.count == 2
    assert [(each.user.name, each.seen_at) for each in people] == [
        (name, NOW) for name in ("Ada", "bob", "cem")
    ]
