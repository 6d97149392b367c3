"""Claims on rows, on both databases: who gets one, who loses it, what a late result may do."""

import asyncio
from datetime import datetime, timedelta
from uuid import UUID

import pytest

from app.db import Database
from app.ids import new_id, new_slug
from app.models import Cluster, ClusterKind, ClusterStatus
from tests.fakes.clock import START, FakeClock
from worker.lease import Lease, Stale, claim, claim_next, guard, heartbeat, release, renew

SECONDS = 15.0


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


async def add_row(database: Database, *, due_at: datetime | None = START) -> UUID:
    slug = new_slug("clu")
    row = Cluster(
        id=new_id(),
        slug=slug,
        name=slug,
        kind=ClusterKind.EMBEDDED,
        address=slug,
        status=ClusterStatus.STARTING,
        created_at=START,
        due_at=due_at,
    )
    async with database.write() as session:
        session.add(row)
    return row.id


async def read_row(database: Database, row_id: UUID) -> Cluster:
    async with database.read() as session:
        return await session.get_one(Cluster, row_id)


async def take(database: Database, *, now: datetime = START, limit: int = 10) -> list[Lease]:
    return await claim(database, Cluster, now=now, seconds=SECONDS, limit=limit)


async def take_next(database: Database) -> Lease | None:
    async with database.write() as session:
        return await claim_next(session, Cluster, now=START, seconds=SECONDS)


async def claim_next_and_fail(database: Database) -> None:
    async with database.write() as session:
        assert await claim_next(session, Cluster, now=START, seconds=SECONDS)
        raise Stale


async def write_late(database: Database, held: Lease) -> None:
    async with database.write() as session:
        cluster = await session.get_one(Cluster, held.id)
        cluster.message = "too late"
        await session.flush()
        await guard(session, held)


async def test_only_due_rows_are_claimed_those_longest_due_first(database: Database) -> None:
    late = await add_row(database, due_at=at(-10))
    later = await add_row(database, due_at=at(-20))
    await add_row(database, due_at=at(1))
    await add_row(database, due_at=None)
    assert [one.id for one in await take(database)] == [later, late]


async def test_the_limit_leaves_the_rest_to_others(database: Database) -> None:
    first = await add_row(database, due_at=at(-2))
    second = await add_row(database, due_at=at(-1))
    assert [one.id for one in await take(database, limit=1)] == [first]
    assert [one.id for one in await take(database)] == [second]


async def test_a_claimed_row_is_not_claimed_again_until_its_lease_has_run_out(
    database: Database,
) -> None:
    await add_row(database)
    (first,) = await take(database)
    assert await take(database, now=at(SECONDS - 1)) == []
    (second,) = await take(database, now=at(SECONDS))
    assert second.id == first.id
    assert second.token != first.token


async def test_release_gives_the_row_back_when_it_is_due(database: Database) -> None:
    await add_row(database)
    (held,) = await take(database)
    async with database.write() as session:
        assert await release(session, held, due_at=at(5))
    assert await take(database, now=at(4)) == []
    assert [one.id for one in await take(database, now=at(5))] == [held.id]


async def test_release_without_a_time_ends_the_work_on_a_row(database: Database) -> None:
    await add_row(database)
    (held,) = await take(database)
    async with database.write() as session:
        await release(session, held, due_at=None)
    assert await take(database, now=at(1e6)) == []


async def test_a_result_under_a_lost_lease_is_dropped(database: Database) -> None:
    row_id = await add_row(database)
    (slow,) = await take(database)
    (quick,) = await take(database, now=at(SECONDS))
    with pytest.raises(Stale):
        await write_late(database, slow)
    async with database.write() as session:
        await guard(session, quick)
        assert not await release(session, slow, due_at=None)
    row = await read_row(database, row_id)
    assert (row.message, row.lease_token) == ("", quick.token)


async def test_renewing_keeps_others_out_and_fails_once_lost(database: Database) -> None:
    await add_row(database)
    (held,) = await take(database)
    assert await renew(database, held, now=at(10), seconds=SECONDS)
    assert await take(database, now=at(SECONDS)) == []
    (other,) = await take(database, now=at(10 + SECONDS))
    assert not await renew(database, held, now=at(26), seconds=SECONDS)
    assert await renew(database, other, now=at(26), seconds=SECONDS)


async def test_two_workers_at_once_share_the_rows(database_url: str) -> None:
    """Two pools of connections, as two processes have."""
    one, other = Database(database_url), Database(database_url)
    try:
        rows = {await add_row(one) for _ in range(12)}
        found = await asyncio.gather(*(take(database, limit=20) for database in (one, other) * 4))
        ids = [held.id for part in found for held in part]
        assert len(ids) == len(set(ids))
        assert set(ids) == rows
    finally:
        await one.close()
        await other.close()


async def test_a_guarded_row_cannot_be_taken_before_the_transaction_ends(
    database_url: str,
) -> None:
    one, other = Database(database_url), Database(database_url)
    try:
        await add_row(one)
        (held,) = await take(one)
        async with one.write() as session:
            await guard(session, held)
            rival = asyncio.create_task(take(other, now=at(SECONDS + 1)))
            await asyncio.sleep(0.05)
            assert not rival.done()
            await release(session, held, due_at=None)
        assert await rival == []
    finally:
        await one.close()
        await other.close()


async def test_the_next_row_is_claimed_as_a_part_of_a_transaction(database: Database) -> None:
    assert await take_next(database) is None
    late, early = await add_row(database, due_at=at(-1)), await add_row(database, due_at=at(-2))
    held = await take_next(database)
    assert held is not None
    assert held.id == early
    with pytest.raises(Stale):
        await claim_next_and_fail(database)
    assert [each.id for each in await take(database)] == [late]


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
async def test_a_row_that_another_transaction_holds_is_passed_by(database: Database) -> None:
    held, free = await add_row(database, due_at=at(-2)), await add_row(database, due_at=at(-1))
    async with database.write() as session:
        (await session.get_one(Cluster, held)).message = "held"
        await session.flush()
        async with asyncio.timeout(10):
            found = await take_next(database)
    assert found is not None
    assert found.id == free


async def test_the_heartbeat_renews_until_the_block_ends(database: Database) -> None:
    row_id = await add_row(database)
    (held,) = await take(database)
    slept: asyncio.Queue[float] = asyncio.Queue()
    beats = asyncio.Semaphore(0)
    clock = FakeClock()

    async def sleep(delay: float) -> None:
        slept.put_nowait(delay)
        await beats.acquire()
        clock.advance(delay)

    async with heartbeat(database, held, seconds=SECONDS, clock=clock, sleep=sleep):
        for _ in range(2):
            delay = await slept.get()
            beats.release()
        await slept.get()
        row = await read_row(database, row_id)
    assert delay < SECONDS / 2
    assert row.lease_until == at(2 * delay + SECONDS)
