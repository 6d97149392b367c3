"""Names and passwords: who gets in, what is told, how often one may try, what is written down."""

import asyncio
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import func, select, update

from app.db import Database
from app.errors import Invalid, NotSignedIn, TooMany
from app.models import AuditOutcome, SignInFailure, User, UserSession
from app.users import service
from app.users.devices import Device
from app.users.passwords import PasswordPool
from app.users.service.throttle import ADDRESS_LIMIT, NAME_LIMIT, WINDOW
from tests.users.people import DAY, HOME, MINUTE, NOW, PASSWORD, QUICK, add_user, at, audited


async def sign_in(
    database: Database,
    name: str = "ada",
    password: str = PASSWORD,
    *,
    device: Device = HOME,
    now: datetime = NOW,
    pool: PasswordPool = QUICK,
    earlier: str = "",
) -> tuple[User, str]:
    return await service.sign_in_with_password(
        database, name, password, device=device, now=now, pool=pool, earlier=earlier
    )


async def guess(database: Database, count: int, **more: Any) -> None:
    for _ in range(count):
        with pytest.raises(NotSignedIn):
            await sign_in(database, **({"password": "wrong"} | more))


async def failures(database: Database) -> int:
    async with database.read() as session:
        return await session.scalar(select(func.count()).select_from(SignInFailure)) or 0


async def test_the_right_password_signs_in(database: Database) -> None:
    await add_user(database, password=PASSWORD)
    user, secret = await sign_in(database)
    async with database.read() as session:
        found = await service.find_session(session, secret, NOW)
        [entry] = await audited(session)
    assert found is not None
    row, who = found
    assert (who.id, row.address) == (user.id, "192.0.2.7")
    assert "Firefox" in row.user_agent
    assert (entry.action, entry.actor, entry.address) == ("session.sign_in", "ada", "192.0.2.7")
    assert entry.details["by"] == "password"
    assert await failures(database) == 0


async def test_all_that_is_wrong_is_told_alike(database: Database) -> None:
    await add_user(database, password=PASSWORD)
    await add_user(database, "by link only")
    gone = await add_user(database, "gone", password=PASSWORD)
    async with database.write() as session:
        await session.execute(update(User).where(User.id == gone.id).values(disabled_at=NOW))
    told = set()
    for name, password in (
        ("ada", "wrong"),
        ("nobody", PASSWORD),
        ("by link only", ""),
        ("gone", PASSWORD),
        ("\0", "\ud800"),
    ):
        with pytest.raises(NotSignedIn) as refused:
            await sign_in(database, name, password)
        told.add(refused.value.message)
    assert len(told) == 1
    async with database.read() as session:
        rows = await audited(session, AuditOutcome.DENIED)
        assert await session.scalar(select(func.count()).select_from(UserSession)) == 0
    assert [row.object_slug for row in rows] == ["ada", "", "by link only", "gone", ""]
    assert "nobody" not in str([(row.object_slug, row.details) for row in rows])


async def test_after_ten_wrong_ones_even_the_right_one_waits(database: Database) -> None:
    await add_user(database, password=PASSWORD)
    await guess(database, NAME_LIMIT)
    with pytest.raises(TooMany, match="15 minutes") as refused:
        await sign_in(database, device=at("198.51.100.1"))
    assert refused.value.retry_after_seconds == WINDOW.total_seconds()
    assert await sign_in(database, now=NOW + WINDOW, device=at("198.51.100.1"))


async def test_guesses_of_others_do_not_shut_the_owner_out(database: Database) -> None:
    await add_user(database, password=PASSWORD)
    home, elsewhere = at("2001:db8::1"), at("203.0.113.9")
    _, secret = await sign_in(database, device=home, now=NOW - 29 * DAY)
    async with database.write() as session:
        await service.end_session(session, secret, NOW - 29 * DAY)
        await service.forget_old(session, NOW)
    await guess(database, NAME_LIMIT, device=elsewhere)
    for _ in range(2):
        with pytest.raises(TooMany):
            await sign_in(database, device=elsewhere)
    assert await sign_in(database, device=at("2001:db8::2"))
    await guess(database, ADDRESS_LIMIT, device=home)
    with pytest.raises(TooMany):
        await sign_in(database, device=home)


async def test_an_old_sign_in_is_no_sign_of_the_owner(database: Database) -> None:
    await add_user(database, password=PASSWORD)
    await sign_in(database, now=NOW - 30 * DAY)
    await guess(database, NAME_LIMIT)
    with pytest.raises(TooMany):
        await sign_in(database)


async def test_names_that_do_not_exist_are_counted_alike(database: Database) -> None:
    await guess(database, NAME_LIMIT, name="nobody")
    with pytest.raises(TooMany):
        await sign_in(database, "nobody", device=at("198.51.100.1"))


async def test_the_window_slides(database: Database) -> None:
    await guess(database, NAME_LIMIT - 1)
    await guess(database, 1, now=NOW + 10 * MINUTE)
    with pytest.raises(TooMany, match="1 minute,"):
        await sign_in(database, now=NOW + 14 * MINUTE)
    await guess(database, NAME_LIMIT - 1, now=NOW + WINDOW)
    with pytest.raises(TooMany):
        await sign_in(database, now=NOW + WINDOW)


async def test_one_address_may_not_try_many_names(database: Database) -> None:
    await add_user(database, password=PASSWORD)
    for number in range(ADDRESS_LIMIT):
        await guess(database, 1, name=f"user {number}")
    with pytest.raises(TooMany):
        await sign_in(database)
    assert await sign_in(database, device=at("198.51.100.1"))


async def test_an_ipv6_network_is_one_address(database: Database) -> None:
    for number in range(ADDRESS_LIMIT):
        await guess(database, 1, name=f"user {number}", device=at(f"2001:db8::{number:x}"))
    with pytest.raises(TooMany):
        await sign_in(database, "other", device=at("2001:db8::ffff"))
    await guess(database, 1, name="other", device=at("2001:db8:0:1::1"))


async def test_right_ones_are_not_counted_and_forgive_nothing(database: Database) -> None:
    await add_user(database, password=PASSWORD)
    await guess(database, NAME_LIMIT - 1)
    for _ in range(3):
        await sign_in(database, device=at("198.51.100.1"))
    await guess(database, 1)
    with pytest.raises(TooMany):
        await sign_in(database)


async def test_guesses_at_the_same_moment_do_not_slip_by(database: Database) -> None:
    await add_user(database, password=PASSWORD)
    pool = PasswordPool(QUICK._hasher, queue_length=100)
    answers = await asyncio.gather(
        *(sign_in(database, password="wrong", pool=pool) for _ in range(3 * NAME_LIMIT)),
        return_exceptions=True,
    )
    looked_at = [each for each in answers if isinstance(each, NotSignedIn)]
    assert {type(each) for each in answers} <= {NotSignedIn, TooMany}
    assert len(looked_at) <= NAME_LIMIT
    assert await failures(database) == len(looked_at)


async def test_what_is_refused_before_the_hash_writes_nothing(database: Database) -> None:
    await guess(database, NAME_LIMIT)
    for _ in range(5):
        with pytest.raises(TooMany):
            await sign_in(database)
    assert await failures(database) == NAME_LIMIT
    async with database.read() as session:
        assert len(await audited(session, AuditOutcome.DENIED)) == NAME_LIMIT


async def test_a_full_queue_counts_nobody(database: Database) -> None:
    await add_user(database, password=PASSWORD)
    pool = PasswordPool(QUICK._hasher, queue_length=1)
    with pool.slot(), pytest.raises(TooMany, match="too many people"):
        await sign_in(database, pool=pool)
    assert await failures(database) == 0
    assert await sign_in(database, pool=pool)


async def test_who_is_signed_in_stays_so_and_links_always_work(database: Database) -> None:
    await add_user(database, password=PASSWORD)
    _, secret = await sign_in(database)
    await guess(database, NAME_LIMIT)
    async with database.write() as session:
        assert await service.find_session(session, secret, NOW) is not None
        link = await service.create_link_for(session, "ada", NOW)
        assert await service.redeem_link(session, link, now=NOW)


async def test_old_parameters_are_replaced_at_sign_in(database: Database) -> None:
    user = await add_user(database, password=PASSWORD)
    stored = user.password_hash
    await sign_in(database)
    real = PasswordPool()
    await sign_in(database, pool=real)
    async with database.read() as session:
        fresh = await service.get_user(session, user.id)
    assert fresh.password_hash != stored
    assert "m=19456,t=2,p=1" in str(fresh.password_hash)
    assert await sign_in(database, pool=real)


async def test_a_sign_in_ends_the_session_the_browser_had(database: Database) -> None:
    await add_user(database, password=PASSWORD)
    _, first = await sign_in(database)
    _, second = await sign_in(database, earlier=first)
    async with database.read() as session:
        assert await service.find_session(session, first, NOW) is None
        assert await service.find_session(session, second, NOW) is not None
    _, third = await sign_in(database, earlier="made up by somebody else")
    assert third != "made up by somebody else"


async def change(database: Database, user: User, present: str, new: str) -> str:
    return await service.change_password(
        database, user, present=present, new=new, device=HOME, now=NOW, pool=QUICK
    )


async def test_a_new_password_ends_every_session_and_link(database: Database) -> None:
    user = await add_user(database, password=PASSWORD)
    _, first = await sign_in(database)
    async with database.write() as session:
        link = await service.create_link_for(session, "ada", NOW)
    fresh = await change(database, user, PASSWORD, "another four words")
    async with database.write() as session:
        assert await service.find_session(session, first, NOW) is None
        assert await service.find_session(session, fresh, NOW) is not None
        with pytest.raises(NotSignedIn):
            await service.redeem_link(session, link, now=NOW)
    with pytest.raises(NotSignedIn):
        await sign_in(database)
    assert await sign_in(database, password="another four words")


async def test_the_present_password_is_asked_for_and_throttled(database: Database) -> None:
    user = await add_user(database, password=PASSWORD)
    for _ in range(NAME_LIMIT):
        with pytest.raises(Invalid) as refused:
            await change(database, user, "wrong", "another four words")
        assert [each.field for each in refused.value.problems] == ["present"]
    with pytest.raises(TooMany):
        await change(database, user, PASSWORD, "another four words")
    async with database.read() as session:
        rows = await audited(session, AuditOutcome.DENIED)
    assert {(row.action, row.actor) for row in rows} == {("password.set", "ada")}


async def test_the_first_password_needs_no_other(database: Database) -> None:
    user = await add_user(database)
    with pytest.raises(Invalid, match="cannot be taken"):
        await change(database, user, "", "short")
    await change(database, user, "", PASSWORD)
    assert await sign_in(database)


async def test_failures_are_forgotten_when_they_no_longer_count(database: Database) -> None:
    await guess(database, 3)
    for later, left in ((WINDOW - timedelta(seconds=1), 3), (WINDOW, 0)):
        async with database.write() as session:
            await service.forget_old(session, NOW + later)
        assert await failures(database) == left
