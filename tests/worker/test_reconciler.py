"""The base loop: what happens to rows whose work fails, is overtaken, is slow, or must end."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest
from tenacity.wait import wait_fixed

from app.db import Database, ReadSession, WriteSession
from app.models import Cluster
from tests.fakes.clock import FakeClock
from tests.worker.test_lease import add_row, read_row, take
from worker.lease import Lease, claim
from worker.reconciler import Loop, Reconciler

BACK_OFF = 7.0
POLL = timedelta(seconds=3)


class Notes(Reconciler[UUID, str]):
    """Writes into each row what it observed; observing waits for `gate`, or fails for `poison`."""

    model = Cluster

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.gate.set()
        self.poison: set[UUID] = set()
        self.unreadable: set[UUID] = set()
        self.observing: set[UUID] = set()
        self.most_at_once = 0

    async def load(self, session: ReadSession, row_id: UUID) -> UUID:
        if row_id in self.unreadable:
            raise RuntimeError("this row makes no sense")
        return (await session.get_one(Cluster, row_id)).id

    async def observe(self, subject: UUID) -> str:
        self.observing.add(subject)
        self.most_at_once = max(self.most_at_once, len(self.observing))
        await self.gate.wait()
        self.observing.discard(subject)
        if subject in self.poison:
            raise RuntimeError("this row is poison")
        return "seen"

    async def apply(
        self, session: WriteSession, subject: UUID, observed: str, *, now: datetime
    ) -> datetime | None:
        row = await session.get_one(Cluster, subject)
        row.message = observed
        return now + POLL


class Relay(Notes):
    """The end of each row makes the next one due, that of the last one none."""

    is_chain = True

    def __init__(self, *rows: UUID) -> None:
        super().__init__()
        self._next = dict(pairwise(rows))

    async def apply(
        self, session: WriteSession, subject: UUID, observed: str, *, now: datetime
    ) -> datetime | None:
        await super().apply(session, subject, observed, now=now)
        if following := self._next.get(subject):
            (await session.get_one(Cluster, following)).due_at = now
        return None


@pytest.fixture
def notes() -> Notes:
    return Notes()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def loop_over(
    database: Database, notes: Notes, clock: FakeClock, *, concurrency: int = 8
) -> Loop[UUID, str]:
    return Loop(
        database,
        notes,
        lease_seconds=15,
        concurrency=concurrency,
        clock=clock,
        back_off=wait_fixed(BACK_OFF),
    )


def counting(
    claimed: Callable[..., Awaitable[list[Lease]]], counts: list[int]
) -> Callable[..., Awaitable[list[Lease]]]:
    """`claim` that notes how many rows it got."""

    async def call(*arguments: Any, **named: Any) -> list[Lease]:
        found = await claimed(*arguments, **named)
        counts.append(len(found))
        return found

    return call


async def until_observing(notes: Notes, count: int) -> None:
    async with asyncio.timeout(10):
        while len(notes.observing) < count:  # noqa: ASYNC110 - no event counts
            await asyncio.sleep(0.01)


async def test_a_row_is_observed_and_comes_back_when_due(
    database: Database, notes: Notes, clock: FakeClock
) -> None:
    row_id = await add_row(database)
    loop = loop_over(database, notes, clock)
    assert await loop.turn() == 1
    row = await read_row(database, row_id)
    assert (row.message, row.lease_token, row.due_at) == ("seen", None, clock() + POLL)
    assert await loop.turn() == 0
    clock.advance(POLL.total_seconds())
    assert await loop.turn() == 1


async def test_a_poison_row_is_pushed_on_and_the_others_go_ahead(
    database: Database, notes: Notes, clock: FakeClock
) -> None:
    poison, good = await add_row(database), await add_row(database)
    notes.poison.add(poison)
    loop = loop_over(database, notes, clock)
    assert await loop.turn() == 2
    assert (await read_row(database, good)).message == "seen"
    pushed = await read_row(database, poison)
    assert (pushed.message, pushed.lease_token) == ("", None)
    assert pushed.due_at == clock() + timedelta(seconds=BACK_OFF)
    notes.poison.clear()
    clock.advance(BACK_OFF)
    await loop.turn()
    assert (await read_row(database, poison)).message == "seen"


async def test_a_row_that_fails_again_waits_longer(database: Database, notes: Notes) -> None:
    clock = FakeClock()
    row_id = await add_row(database)
    notes.poison.add(row_id)
    loop = Loop(database, notes, lease_seconds=15, clock=clock)
    waits = []
    for _ in range(5):
        await loop.turn()
        due_at = (await read_row(database, row_id)).due_at
        assert due_at is not None
        waits.append((due_at - clock()).total_seconds())
        clock.now = due_at
    assert waits == sorted(waits)
    assert 1 <= waits[0] <= 2
    assert 16 <= waits[-1] <= 17


async def test_a_result_that_comes_too_late_is_dropped(
    database: Database, notes: Notes, clock: FakeClock
) -> None:
    row_id = await add_row(database)
    notes.gate.clear()
    working = asyncio.create_task(loop_over(database, notes, clock).turn())
    await until_observing(notes, 1)
    clock.advance(16)
    (other,) = await take(database, now=clock())
    notes.gate.set()
    await working
    row = await read_row(database, row_id)
    assert (row.message, row.lease_token) == ("", other.token)


async def test_no_more_rows_are_taken_than_can_be_worked_on(
    database: Database, notes: Notes, clock: FakeClock
) -> None:
    rows = [await add_row(database) for _ in range(5)]
    loop = loop_over(database, notes, clock, concurrency=2)
    notes.gate.clear()
    working = asyncio.create_task(loop.turn())
    await until_observing(notes, 2)
    notes.gate.set()
    assert await working == 2
    while await loop.turn():
        continue
    assert notes.most_at_once == 2
    assert {(await read_row(database, row_id)).message for row_id in rows} == {"seen"}


async def test_a_stop_lets_the_work_in_hand_end(
    sqlite_database: Database, notes: Notes, clock: FakeClock
) -> None:
    row_id = await add_row(sqlite_database)
    notes.gate.clear()
    stop = asyncio.Event()
    running = asyncio.create_task(loop_over(sqlite_database, notes, clock).run(stop))
    await until_observing(notes, 1)
    stop.set()
    notes.gate.set()
    async with asyncio.timeout(10):
        await running
    assert (await read_row(sqlite_database, row_id)).message == "seen"


async def test_a_row_that_becomes_due_is_claimed_with_the_end_of_the_one_before(
    database: Database, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await add_row(database)
    rows = [first, *[await add_row(database, due_at=None) for _ in range(3)]]
    claims: list[int] = []
    monkeypatch.setattr("worker.reconciler.claim", counting(claim, claims))
    stop = asyncio.Event()
    running = asyncio.create_task(loop_over(database, Relay(*rows), clock).run(stop))
    async with asyncio.timeout(20):
        while (await read_row(database, rows[-1])).message != "seen":  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    stop.set()
    await running
    assert sum(claims) == 1
    for row_id in rows:
        row = await read_row(database, row_id)
        assert (row.message, row.lease_token, row.due_at) == ("seen", None, None)


async def test_a_next_row_that_cannot_be_read_does_not_undo_the_end_of_the_one_before(
    database: Database, clock: FakeClock
) -> None:
    rows = [await add_row(database), await add_row(database, due_at=None)]
    relay, stop = Relay(*rows), asyncio.Event()
    relay.unreadable.add(rows[1])
    running = asyncio.create_task(loop_over(database, relay, clock).run(stop))
    async with asyncio.timeout(20):
        while (await read_row(database, rows[1])).due_at in (None, clock()):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    stop.set()
    await running
    assert (await read_row(database, rows[0])).message == "seen"
    pushed = await read_row(database, rows[1])
    assert (pushed.message, pushed.lease_token) == ("", None)
    assert pushed.due_at == clock() + timedelta(seconds=BACK_OFF)


async def test_a_stop_ends_a_chain_and_leaves_the_next_row_to_others(
    database: Database, clock: FakeClock
) -> None:
    rows = [await add_row(database), await add_row(database, due_at=None)]
    relay, stop = Relay(*rows), asyncio.Event()
    relay.gate.clear()
    running = asyncio.create_task(loop_over(database, relay, clock).run(stop))
    await until_observing(relay, 1)
    stop.set()
    # The loop has heard of the stop and waits for what is in hand.
    await asyncio.sleep(0.05)
    relay.gate.set()
    async with asyncio.timeout(20):
        await running
    second = await read_row(database, rows[1])
    assert (second.message, second.lease_token) == ("", None)
    assert [held.id for held in await take(database, now=clock())] == [rows[1]]


async def test_a_database_that_fails_does_not_end_the_loop(
    sqlite_database: Database, notes: Notes, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    row_id = await add_row(sqlite_database)
    read, is_full = sqlite_database.read, [True]

    def read_unless_full() -> AbstractAsyncContextManager[ReadSession]:
        if is_full.pop():
            is_full.append(False)
            raise OSError("disk is full")
        is_full.append(False)
        return read()

    monkeypatch.setattr(sqlite_database, "read", read_unless_full)
    loop = Loop(sqlite_database, notes, lease_seconds=15, clock=clock, back_off=wait_fixed(0.01))
    notes.gate.clear()
    stop = asyncio.Event()
    running = asyncio.create_task(loop.run(stop))
    await until_observing(notes, 1)
    assert notes.observing == {row_id}
    notes.gate.set()
    stop.set()
    await running
