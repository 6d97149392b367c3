"""The base loop of all reconcilers: claim, observe, apply, release.

What is slow (the cluster, files) happens in `observe`, outside any session. `apply` stores the
result in one write transaction that first proves the claim and last gives the row back. A worker
may be killed at any instruction: the row is taken up again when its lease has run out.
"""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar, Generic, TypeVar
from uuid import UUID

from tenacity.wait import wait_base, wait_exponential_jitter

from app.clock import utcnow
from app.db import Database, ReadSession, WriteSession
from app.waits import seconds_before
from worker.lease import Clock, Lease, Leased, Stale, claim, claim_next, guard, heartbeat, release

S = TypeVar("S")
O = TypeVar("O")  # noqa: E741 - what was Observed

log = logging.getLogger(__name__)

_DRAIN_SECONDS = 5.0
_IDLE_SECONDS = 0.5
# One row that cannot be worked on comes back ever later; it must not starve the others.
_BACK_OFF = wait_exponential_jitter(multiplier=1, max=60, jitter=1)


class Reconciler(ABC, Generic[S, O]):
    """Brings the rows of one table in line with the world outside.

    `S` is a detached snapshot of a row and what belongs to it, `O` what was observed about it.
    """

    model: ClassVar[Leased]
    concurrency: ClassVar[int] = 8
    """How many rows one worker works on at a time, unless its loop is told otherwise."""
    is_chain: ClassVar[bool] = False
    """Whether the end of a row mostly makes another due: that is then claimed with that end."""

    @property
    def name(self) -> str:
        return self.model.__tablename__

    @abstractmethod
    async def load(self, session: ReadSession, row_id: UUID) -> S:
        """Reads what `observe` needs to know."""

    @abstractmethod
    async def observe(self, subject: S) -> O:
        """Looks at the world and asks it to change; slow, repeatable, without a session."""

    @abstractmethod
    async def apply(
        self, session: WriteSession, subject: S, observed: O, *, now: datetime
    ) -> datetime | None:
        """Stores the result; returns when the row is due again, or None for never."""


@dataclass(frozen=True, slots=True)
class _Job(Generic[S]):
    """A row that is claimed; `subject` None: it is still to be read."""

    lease: Lease
    subject: S | None = None


class Loop(Generic[S, O]):
    """Runs one reconciler over all due rows, `concurrency` of them at a time."""

    def __init__(
        self,
        database: Database,
        reconciler: Reconciler[S, O],
        *,
        lease_seconds: float,
        concurrency: int = 8,
        clock: Clock = utcnow,
        back_off: wait_base = _BACK_OFF,
    ) -> None:
        self._database = database
        self._reconciler = reconciler
        self._lease_seconds = lease_seconds
        self._concurrency = concurrency
        self._clock = clock
        self._back_off = back_off
        self._failures: dict[UUID, int] = {}
        self._working: set[asyncio.Task[None]] = set()
        self._ended = asyncio.Event()
        self._goes_on = False

    async def run(self, stop: asyncio.Event) -> None:
        """Works until `stop` is set, then finishes what is in hand, for a few seconds at most."""
        failures = 0
        self._goes_on = self._reconciler.is_chain
        while not stop.is_set():
            # Before the look: the next row may be due because one ended while others are claimed.
            self._ended.clear()
            try:
                await self._start_due()
                failures = 0
            except Exception:
                failures += 1
                log.exception("%s: no rows could be claimed", self._reconciler.name)
                await _either(
                    stop.wait(), seconds=seconds_before(self._back_off, failures=failures)
                )
                continue
            # A row that was just worked on may be due at once: its end is worth a new look.
            await _either(stop.wait(), self._ended.wait(), seconds=_IDLE_SECONDS)
        await self._drain()

    async def turn(self) -> int:
        """Works once on the rows that are due now; returns how many were claimed."""
        started = await self._start_due()
        await asyncio.gather(*self._working)
        return started

    async def _start_due(self) -> int:
        free = self._concurrency - len(self._working)
        if free <= 0:
            return 0
        leases = await claim(
            self._database,
            self._reconciler.model,
            now=self._clock(),
            seconds=self._lease_seconds,
            limit=free,
        )
        for lease in leases:
            task = asyncio.create_task(self._work(lease))
            self._working.add(task)
            task.add_done_callback(self._end)
        return len(leases)

    def _end(self, task: asyncio.Task[None]) -> None:
        self._working.discard(task)
        self._ended.set()

    async def _work(self, lease: Lease) -> None:
        job: _Job[S] | None = _Job(lease)
        while job is not None:
            job = await self._work_on(job)

    async def _work_on(self, job: _Job[S]) -> _Job[S] | None:
        """Returns the row that was claimed with this one's end, if one was."""
        lease = job.lease
        try:
            following = await self._reconcile(job)
            self._failures.pop(lease.id, None)
            return following
        except Stale:
            log.info("%s %s: another worker has taken over", self._reconciler.name, lease.id)
        except Exception:
            log.exception("%s %s: will be tried again", self._reconciler.name, lease.id)
            await self._push_on(lease)
        return None

    async def _reconcile(self, job: _Job[S]) -> _Job[S] | None:
        lease = job.lease
        async with heartbeat(self._database, lease, seconds=self._lease_seconds, clock=self._clock):
            subject = job.subject
            if subject is None:
                async with self._database.read() as session:
                    subject = await self._reconciler.load(session, lease.id)
            observed = await self._reconciler.observe(subject)
        async with self._database.write() as session:
            await guard(session, lease)
            now = self._clock()
            due_at = await self._reconciler.apply(session, subject, observed, now=now)
            await session.flush()
            await release(session, lease, due_at=due_at)
            return await self._next(session, lease.model, now) if self._goes_on else None

    async def _next(self, session: WriteSession, model: Leased, now: datetime) -> _Job[S] | None:
        """Claims and reads the next row: alone, it would stand in line behind all that end now."""
        lease = await claim_next(session, model, now=now, seconds=self._lease_seconds)
        if lease is None:
            return None
        try:
            return _Job(lease, await self._reconciler.load(session, lease.id))
        except Exception:
            # It fails once more on its own, where it is handled: it must not undo what ended here.
            log.exception("%s %s: could not be read", self._reconciler.name, lease.id)
            return _Job(lease)

    async def _push_on(self, lease: Lease) -> None:
        count = self._failures[lease.id] = self._failures.get(lease.id, 0) + 1
        due_at = self._clock() + timedelta(seconds=seconds_before(self._back_off, failures=count))
        try:
            async with self._database.write() as session:
                await release(session, lease, due_at=due_at)
        except Exception:
            # The database itself is in trouble. The lease runs out, and the row comes back.
            log.exception("%s %s: could not be given back", self._reconciler.name, lease.id)

    async def _drain(self) -> None:
        self._goes_on = False
        if self._working:
            await asyncio.wait(self._working, timeout=_DRAIN_SECONDS)
        for task in self._working:
            task.cancel()
        await asyncio.gather(*self._working, return_exceptions=True)


async def _either(*waits: Awaitable[object], seconds: float) -> None:
    """Returns as soon as one of `waits` is done, or after `seconds`."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    await asyncio.wait(tasks, timeout=seconds, return_when="FIRST_COMPLETED")
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
