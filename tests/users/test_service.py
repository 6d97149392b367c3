"""Links, sessions and tokens: who gets in, for how long."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select, update

from app.access import service as access
from app.access.permissions import Scope
from app.access.principal import Actor
from app.db import Database
from app.errors import Invalid, NotFound, NotSignedIn
from app.models import ApiToken, SignInLink, User, UserSession
from app.users import service
from tests.users.people import audited

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


async def make_link(database: Database, now: datetime = NOW) -> str:
    async with database.write() as session:
        secret = await service.create_sign_in_link(session, now)
    assert secret is not None
    return secret


async def redeem(database: Database, secret: str, now: datetime = NOW) -> tuple[User, str]:
    async with database.write() as session:
        return await service.redeem_link(session, secret, now=now, session_days=2)


async def test_the_first_link_makes_the_administrator(database: Database) -> None:
    user, secret = await redeem(database, await make_link(database), NOW + 14 * MINUTE)
    assert (user.name, user.is_admin) == ("admin", True)
    async with database.read() as session:
        found = await service.find_session(session, secret, NOW + 15 * MINUTE)
        assert found is not None
        assert found[1].id == user.id


async def test_a_sign_in_link_leaves_a_row_in_the_audit_log(database: Database) -> None:
    await redeem(database, first := await make_link(database))
    async with database.write() as session:
        by = Actor("root on the machine", "host")
        later = await service.create_link_for(session, "admin", NOW, actor=by)
    async with database.read() as session:
        rows = [row for row in await audited(session) if row.action == "link.create"]
    told = [(row.actor_key, row.actor, row.object_slug, row.details) for row in rows]
    assert told == [
        ("host", "the service's machine", "", {"purpose": "first"}),
        ("host", "root on the machine", "admin", {"purpose": "sign_in"}),
    ]
    assert not any(secret in str(told) for secret in (first, later))


async def test_a_link_works_once(database: Database) -> None:
    secret = await make_link(database)
    await redeem(database, secret)
    with pytest.raises(NotSignedIn):
        await redeem(database, secret)


async def test_a_link_of_somebody_who_exists_works_once_too(database: Database) -> None:
    await redeem(database, await make_link(database))
    async with database.write() as session:
        secret = await service.create_link_for(session, "admin", NOW)
    await redeem(database, secret)
    with pytest.raises(NotSignedIn):
        await redeem(database, secret)


async def test_of_two_at_once_one_gets_in(database: Database) -> None:
    secret = await make_link(database)
    answers = await asyncio.gather(
        *(redeem(database, secret) for _ in range(3)), return_exceptions=True
    )
    assert sum(isinstance(answer, NotSignedIn) for answer in answers) == 2
    async with database.read() as session:
        assert len((await session.scalars(select(User))).all()) == 1


async def test_a_link_ends_after_a_quarter_of_an_hour(database: Database) -> None:
    with pytest.raises(NotSignedIn, match="15 minutes"):
        await redeem(database, await make_link(database), NOW + 15 * MINUTE)


async def test_a_guessed_link_opens_nothing(database: Database) -> None:
    await make_link(database)
    with pytest.raises(NotSignedIn):
        await redeem(database, "guess")


async def test_a_newer_link_ends_the_older_one(database: Database) -> None:
    older = await make_link(database)
    newer = await make_link(database, NOW + MINUTE)
    with pytest.raises(NotSignedIn):
        await redeem(database, older, NOW + 2 * MINUTE)
    assert (await redeem(database, newer, NOW + 2 * MINUTE))[0].is_admin


async def test_no_first_link_once_there_is_an_administrator(database: Database) -> None:
    await redeem(database, await make_link(database))
    async with database.write() as session:
        assert await service.create_sign_in_link(session, NOW) is None


async def test_a_first_link_is_void_once_there_is_an_administrator(database: Database) -> None:
    secret = await make_link(database)
    async with database.write() as session:
        session.add(User(name="other", is_admin=True, created_at=NOW))
    with pytest.raises(NotSignedIn, match="void"):
        await redeem(database, secret)


async def test_a_name_that_is_taken(database: Database) -> None:
    secret = await make_link(database)
    async with database.write() as session:
        session.add(User(name="admin", created_at=NOW))
    with pytest.raises(Invalid, match="take another name"):
        await redeem(database, secret)
    async with database.write() as session:
        user, _ = await service.redeem_link(session, secret, "ada", now=NOW)
    assert user.name == "ada"


async def test_a_link_for_a_user_who_exists(database: Database) -> None:
    user, _ = await redeem(database, await make_link(database))
    async with database.write() as session:
        secret = await service.create_link_for(session, "admin", NOW)
        with pytest.raises(NotFound):
            await service.create_link_for(session, "nobody", NOW)
    assert (await redeem(database, secret))[0].id == user.id


async def test_without_a_name_the_first_administrator_is_meant(database: Database) -> None:
    async with database.write() as session:
        for name, is_admin, gone in (("m", False, None), ("a", True, NOW), ("b", True, None)):
            session.add(User(name=name, is_admin=is_admin, created_at=NOW, disabled_at=gone))
            await session.flush()
        secret = await service.create_link_for(session, None, NOW)
        assert [user.name for user in await service.list_users(session)] == ["m", "a", "b"]
    assert (await redeem(database, secret))[0].name == "b"


async def test_what_lets_nobody_in_is_forgotten(database: Database) -> None:
    used = await make_link(database)
    user, live = await redeem(database, used)
    async with database.write() as session:
        ended = await service.create_session(session, user, now=NOW)
        await service.end_session(session, ended, NOW)
        await service.create_session(session, user, session_days=1, now=NOW - timedelta(days=1))
        await service.create_link_for(session, "admin", NOW - 15 * MINUTE)
        open_link = await service.create_link_for(session, "admin", NOW)
    async with database.write() as session:
        # Both links that are spent; ended sessions still say where somebody was signed in.
        assert await service.forget_old(session, NOW) == 2
        assert await service.forget_old(session, NOW) == 0
    async with database.read() as session:
        assert await service.find_session(session, live, NOW) is not None
    assert (await redeem(database, open_link))[0].id == user.id
    async with database.write() as session:
        assert await service.forget_old(session, NOW + timedelta(days=61)) >= 3


@pytest.mark.parametrize(
    ("name", "expires_at"),
    [
        ("a\0b", None),
        ("\ud800", None),
        ("t", datetime.fromisoformat("9999-12-31T23:59:59-01:00")),
        ("t", datetime.fromisoformat("0001-01-01T00:00:00+01:00")),
    ],
)
async def test_tokens_that_no_database_keeps(
    database: Database, name: str, expires_at: datetime | None
) -> None:
    with pytest.raises(Invalid):
        async with database.write() as session:
            await service.create_token(session, name=name, scope=Scope.READ, expires_at=expires_at)


async def test_a_session_ends_by_time_by_sign_out_and_with_its_user(database: Database) -> None:
    user, first = await redeem(database, await make_link(database))
    async with database.write() as session:
        second = await service.create_session(session, user, now=NOW)
        await service.end_session(session, second, NOW)
    async with database.read() as session:
        assert await service.find_session(session, first, NOW + timedelta(days=2)) is None
        assert await service.find_session(session, second, NOW) is None
        assert await service.find_session(session, "guess", NOW) is None
        assert await service.find_session(session, first, NOW) is not None
    async with database.write() as session:
        await session.execute(update(User).values(disabled_at=NOW))
    async with database.read() as session:
        assert await service.find_session(session, first, NOW) is None


async def test_secrets_are_not_stored(database: Database) -> None:
    link = await make_link(database)
    _, cookie = await redeem(database, link)
    async with database.write() as session:
        _, token = await service.create_token(session, name="t", scope=Scope.READ, now=NOW)
    async with database.read() as session:
        for table in (SignInLink, UserSession, ApiToken):
            [stored] = await session.scalars(select(table.secret_hash))
            assert len(stored) == 64
            assert stored not in (link, cookie, token)


async def test_a_token_is_named_after_its_user(database: Database) -> None:
    user, _ = await redeem(database, await make_link(database))
    async with database.write() as session:
        _, own = await service.create_token(session, name="t", scope=Scope.READ, user=user)
        _, alone = await service.create_token(session, name="job", scope=Scope.WRITE)
    async with database.read() as session:
        found = [await service.find_token(session, secret) for secret in (own, alone)]
        callers = [await access.of_token(session, *each) for each in found if each]
    assert [caller.name for caller in callers] == ["admin", "job"]
    async with database.write() as session:
        await session.execute(update(User).values(disabled_at=NOW))
    async with database.read() as session:
        assert await service.find_token(session, own) is None
        assert await service.find_token(session, alone) is not None


async def test_use_is_noted_once_a_minute(database: Database) -> None:
    async with database.write() as session:
        token, _ = await service.create_token(session, name="t", scope=Scope.READ, now=NOW)
    noted = []
    for now in (NOW, NOW + 59 * timedelta(seconds=1), NOW + MINUTE):
        async with database.write() as session:
            await service.touch_token(session, token, now)
        async with database.read() as session:
            [entry] = await service.list_tokens(session)
            noted.append(entry.token.last_used_at)
            assert service.is_touch_due(entry.token, now) is False
    assert noted == [NOW, NOW, NOW + MINUTE]


@pytest.mark.parametrize("name", ["", "  ", "x" * 201])
async def test_names_of_tokens_that_are_refused(database: Database, name: str) -> None:
    async with database.write() as session:
        with pytest.raises(Invalid):
            await service.create_token(session, name=name, scope=Scope.READ)
