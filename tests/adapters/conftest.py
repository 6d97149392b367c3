"""A run with an export on the disk, and the worker's loops that see to it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from app.adapters import destinations
from app.adapters import service as adapters
from app.checkpoints import service as checkpoints
from app.checkpoints.service import MAX_CHECKPOINTS, Shown
from app.clock import utcnow
from app.db import Database
from app.models import Attempt, AttemptStatus, CheckpointWatch, Promotion, Run, TrainingEvaluation
from app.runs import service as runs
from app.storage.local_adapters import LocalAdapterStore
from tests.checkpoints.exports import write_export, write_state
from tests.factories import ADA, make_run
from tests.fakes.clock import FakeClock
from worker.reconciler import Loop
from worker.reconcilers.checkpoints import CheckpointsReconciler
from worker.reconcilers.promotions import Place, PromotionsReconciler


@dataclass
class Shop:
    """What a test of promotions works with. `root` is where adapters go."""

    database: Database
    home: Path
    clock: FakeClock
    looks: Loop[Any, Any]
    promotions: Loop[Any, Any]

    @property
    def root(self) -> Path:
        return self.home / "adapters"

    def folder(self, slug: str) -> Path:
        return self.home / "runs" / slug

    async def add_run(self, *steps: int) -> str:
        """A run that has saved, exported and evaluated at some steps; it was looked at."""
        async with self.database.write() as session:
            run = await make_run(session)
            now = run.created_at = self.clock()
            session.add(
                Attempt(
                    run_id=run.id,
                    number=1,
                    submission_id=f"{run.slug}-a1",
                    status=AttemptStatus.RUNNING,
                    created_at=now,
                    started_at=now,
                )
            )
            for step in steps:
                write_state(self.folder(run.slug), step)
                write_export(self.folder(run.slug), step)
                session.add(evaluation(run, step, solved=min(step, 8)))
            await checkpoints.note_log(session, run, 1, [], now=now)
        await self.look()
        return run.slug

    async def look(self) -> None:
        """Has the folders of all runs looked at now."""
        async with self.database.write() as session:
            for watch in await session.scalars(select(CheckpointWatch)):
                watch.due_at = self.clock()
        assert await self.looks.turn()

    async def saved(self, slug: str) -> Sequence[Shown]:
        async with self.database.read() as session:
            run = await runs.get(session, slug)
            return (await checkpoints.list_page(session, run, limit=MAX_CHECKPOINTS)).items

    async def export_of(self, slug: str, step: int) -> str:
        """The slug of the adapter that was saved at a step."""
        return next(
            each.row.slug
            for each in await self.saved(slug)
            if each.row.step == step and each.row.kind == "adapter"
        )

    async def promote(self, checkpoint: str, **given: Any) -> str:
        """Asks for it; the promotion's slug."""
        async with self.database.write() as session:
            row = await checkpoints.get(session, checkpoint)
            return (await adapters.promote(session, row, actor=ADA, **given)).slug

    async def read(self, promotion: str) -> Promotion:
        async with self.database.read() as session:
            return await adapters.get_promotion(session, promotion)

    async def settle(self, *, seconds: float = 0) -> None:
        """Works until no promotion is due."""
        self.clock.advance(seconds)
        while await self.promotions.turn():
            pass


def evaluation(run: Run, step: int, *, solved: int, attempt: int = 1) -> TrainingEvaluation:
    return TrainingEvaluation(
        run_id=run.id,
        attempt_number=attempt,
        step=step,
        env_id="maze_2d/easy",
        max_turns=15,
        n=8,
        solved_count=solved,
        passed_count=8,
        items=[],
        path="x",
        created_at=run.created_at,
    )


def make_shop(database: Database, home: Path, **limits: Any) -> Shop:
    """`limits` of the endpoint, where they are to be others."""
    # What people ask for has the real time; it is due at any time after that.
    clock = FakeClock(utcnow() + timedelta(hours=1))
    place = Place(replace(destinations.get(None), **limits), LocalAdapterStore(home / "adapters"))
    runs_dir = home / "runs"
    promotions = PromotionsReconciler(database, {place.destination.name: place}, runs_dir=runs_dir)
    return Shop(
        database=database,
        home=home,
        clock=clock,
        looks=Loop(
            database, CheckpointsReconciler(runs_dir=runs_dir), lease_seconds=15, clock=clock
        ),
        promotions=Loop(database, promotions, lease_seconds=15, clock=clock),
    )


@pytest.fixture
def shop(database: Database, tmp_path: Path) -> Shop:
    return make_shop(database, tmp_path / "home")
