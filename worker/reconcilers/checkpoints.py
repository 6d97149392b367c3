"""Looks at what runs have saved in their own folders, where this machine has them."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import selectinload

from app.checkpoints import service as checkpoints
from app.checkpoints.folders import find_saved
from app.checkpoints.service import MAX_CHECKPOINTS, Saved
from app.db import ReadSession, WriteSession
from app.models import Checkpoint, CheckpointWatch, ClusterKind, Run
from app.runs.states import ENDED
from app.secrets import service as secrets
from app.secrets.masking import Masker
from worker.reconciler import Reconciler

# Between two looks while a run goes on: the trainer removes old checkpoints after it said that it
# has saved a new one.
LOOK_EVERY = timedelta(seconds=20)


@dataclass(frozen=True, slots=True)
class Subject:
    """A run's folder, and what is already known to lie in it. `folder` None: not on this machine.

    `has_ended`: the run, before the folder was looked at.
    """

    watch_id: UUID
    run_id: UUID
    revision: int
    folder: Path | None
    named: Sequence[tuple[UUID, str]]
    has_ended: bool
    masker: Masker
    """What a job writes into its files may hold its secrets."""


class CheckpointsReconciler(Reconciler[Subject, list[Saved] | None]):
    """Reconciles checkpoints. It never looks outside of `runs_dir`."""

    model = CheckpointWatch

    def __init__(self, *, runs_dir: Path) -> None:
        self._runs_dir = runs_dir

    async def load(self, session: ReadSession, row_id: UUID) -> Subject:
        watch = await session.get_one(CheckpointWatch, row_id)
        run = await session.get_one(Run, watch.run_id, options=[selectinload(Run.cluster)])
        rows = await session.execute(
            select(Checkpoint.id, Checkpoint.path)
            .where(Checkpoint.run_id == run.id)
            .limit(MAX_CHECKPOINTS)
        )
        is_here = run.cluster is not None and run.cluster.kind is ClusterKind.EMBEDDED
        return Subject(
            watch_id=watch.id,
            run_id=run.id,
            revision=watch.revision,
            folder=self._runs_dir / run.slug if is_here else None,
            named=[(row[0], row[1]) for row in rows],
            has_ended=run.status in ENDED,
            masker=await secrets.masker(session, [run.project_id]),
        )

    async def observe(self, subject: Subject) -> list[Saved] | None:
        if subject.folder is None:
            return None
        return await asyncio.to_thread(_look, subject.folder, [path for _, path in subject.named])

    async def apply(
        self,
        session: WriteSession,
        subject: Subject,
        observed: list[Saved] | None,
        *,
        now: datetime,
    ) -> datetime | None:
        if observed is not None and subject.folder is not None:
            run = await session.get_one(Run, subject.run_id, options=[selectinload(Run.attempts)])
            await checkpoints.note_folder(
                session,
                run,
                [_masked(each, subject.masker) for each in observed],
                [row_id for row_id, _ in subject.named],
                run_folder=subject.folder,
                now=now,
            )
        watch = await session.get_one(CheckpointWatch, subject.watch_id, populate_existing=True)
        if watch.revision != subject.revision:
            return now
        # What runs elsewhere save is told by their logs alone, and these wake us.
        return None if subject.has_ended or observed is None else now + LOOK_EVERY


def _masked(saved: Saved, masker: Masker) -> Saved:
    return replace(saved, problem=masker.text(saved.problem)) if saved.problem else saved


def _look(folder: Path, named: list[str]) -> list[Saved] | None:
    """None where the folder is on another machine, or gone with all that was in it."""
    return find_saved(folder, named) if folder.is_dir() else None
