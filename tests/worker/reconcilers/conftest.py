"""A worker's loops over a real database, a cluster in memory, and time that the test moves."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from app.access.principal import Actor
from app.clusters.service import ensure_embedded
from app.db import Database
from app.models import Attempt, Event, LogStream, Run
from app.ray.gateway import JobStatus
from app.ray.head_state import HeadPhase, HeadState, ray_dir, write_head_state
from app.ray.logs import job_log_path
from app.runs import service as runs
from tests.factories import ADA, make_run
from tests.fakes.clock import FakeClock
from tests.fakes.gateway import FakeGateway
from worker.reconciler import Loop
from worker.reconcilers.attempts import AttemptsReconciler
from worker.reconcilers.clusters import ClustersReconciler
from worker.reconcilers.job_code import Packages
from worker.reconcilers.job_tracking import Addresses
from worker.reconcilers.logs import LogsReconciler

POLL = timedelta(seconds=1)
_MOST_TURNS = 10


@dataclass
class Bench:
    """What a test of reconcilers works with; `step` lets a second pass."""

    database: Database
    gateway: FakeGateway
    clock: FakeClock
    home: Path
    clusters: Loop[Any, Any]
    attempts: Loop[Any, Any]
    logs: Loop[Any, Any]

    async def settle(self) -> None:
        """Works until no row is due at this moment."""
        for _ in range(_MOST_TURNS):
            if not sum([await loop.turn() for loop in (self.clusters, self.attempts, self.logs)]):
                return
        raise AssertionError("some row is always due at once")

    async def step(self, seconds: float = 1.0) -> None:
        self.clock.advance(seconds)
        await self.settle()

    async def add_run(self) -> str:
        """Queues a run; returns its slug."""
        async with self.database.write() as session:
            run = await make_run(session)
            run.due_at = run.created_at = self.clock()
            return run.slug

    async def start_run(self) -> str:
        """A run whose job runs; returns its slug."""
        slug = await self.add_run()
        await self.settle()
        self.gateway.start(f"{slug}-a1")
        await self.step()
        return slug

    async def read(self, slug: str) -> Run:
        async with self.database.read() as session:
            return await runs.get(session, slug)

    async def attempt(self, slug: str) -> Attempt:
        return (await self.read(slug)).attempts[-1]

    async def change(
        self, slug: str, wish: Callable[..., Coroutine[Any, Any, Run]], actor: Actor = ADA
    ) -> None:
        """As a person does: `wish` is `request_stop` or `request_resume`."""
        async with self.database.write() as session:
            run = await runs.get(session, slug)
            await wish(session, run, actor=actor)
            if run.due_at is not None:
                run.due_at = min(run.due_at, self.clock())

    async def moves(self, slug: str, kind: str = "status") -> list[str]:
        """The statuses that a run went through, by its events."""
        async with self.database.read() as session:
            run = await runs.get(session, slug)
            query = select(Event.to_status).where(Event.run_id == run.id, Event.kind == kind)
            return [status or "" for status in await session.scalars(query.order_by(Event.id))]

    async def stream(self, slug: str) -> LogStream:
        async with self.database.read() as session:
            run = await runs.get(session, slug)
            query = select(LogStream).where(LogStream.run_id == run.id)
            found = await session.scalars(query.order_by(LogStream.attempt_number.desc()))
            stream = found.first()
            assert stream is not None
            return stream

    def log_file(self, slug: str, number: int = 1) -> Path:
        assert self.gateway.session_dir is not None
        return job_log_path(self.gateway.session_dir, f"{slug}-a{number}")

    def write_log(self, slug: str, data: bytes, number: int = 1) -> None:
        file = self.log_file(slug, number)
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("ab") as out:
            out.write(data)

    async def end_job(self, slug: str, status: JobStatus, number: int = 1, **fields: Any) -> None:
        """The job ends, and enough time passes to store the end of its log."""
        self.gateway.finish(f"{slug}-a{number}", status, **fields)
        for _ in range(4):
            await self.step()

    def write_head(self, phase: HeadPhase = HeadPhase.READY, message: str = "ready") -> None:
        """Writes the embedded head's state file, as `skydeck up` does."""
        name = self.gateway.session_name
        folder = ray_dir(self.home) / "s" / name
        self.gateway.session_dir = folder / name
        self.gateway.session_dir.mkdir(parents=True, exist_ok=True)
        state = HeadState(
            phase=phase,
            message=message,
            marker="m",
            address="http://127.0.0.1:1",
            agent_address="http://127.0.0.2:2",
            temp_dir=folder,
            session_name=name,
            session_dir=self.gateway.session_dir,
        )
        write_head_state(self.home, state)


async def make_bench(database: Database, home: Path) -> Bench:
    """With a cluster that is ready."""
    clock, gateway = FakeClock(), FakeGateway()

    def loop(reconciler: Any) -> Loop[Any, Any]:
        return Loop(database, reconciler, lease_seconds=15, clock=clock)

    made = Bench(
        database=database,
        gateway=gateway,
        clock=clock,
        home=home,
        clusters=loop(ClustersReconciler(gateway, home=home, poll=POLL)),
        attempts=loop(
            AttemptsReconciler(
                gateway,
                Packages(database, home),
                addresses=Addresses(home, None),
                runs_dir=home / "runs",
                poll=POLL,
            )
        ),
        logs=loop(LogsReconciler(gateway, home=home, runs_dir=home / "runs", poll=POLL)),
    )
    made.write_head()
    async with database.write() as session:
        cluster = await ensure_embedded(session)
        cluster.due_at = clock()
    await made.settle()
    return made


@pytest.fixture
async def bench(database: Database, tmp_path: Path) -> Bench:
    return await make_bench(database, tmp_path / "home")
