"""Checkpoints: noted from a run's log and from its folder, listed with what was measured.

The worker's two readers, of the log and of the folder, may both meet a checkpoint first. Each
begins with the run's watch, whose row lets one of them at a time go on.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app.checkpoints import repository
from app.checkpoints.evaluations import Best, Shown, find_best, is_exportable, of_checkpoint, show
from app.checkpoints.exports import CONFIG, WEIGHTS
from app.checkpoints.folders import Saved, inside, step_of
from app.errors import Invalid, NotFound, Problem
from app.ids import new_id, new_slug
from app.metrics import service as metrics
from app.metrics.service import EvaluationCount
from app.models import Attempt, Checkpoint, CheckpointKind, CheckpointWatch, Run
from app.paging import Page, decode_cursor, page_of

__all__ = [
    "CONFIG",
    "MAX_CHECKPOINTS",
    "WEIGHTS",
    "Best",
    "Saved",
    "SavedLine",
    "Shown",
    "evaluation_of",
    "find_best_exportable",
    "get",
    "is_exportable",
    "list_page",
    "list_with_best",
    "note_folder",
    "note_log",
]

MAX_CHECKPOINTS = 4_000
"""Of a run. A job may print whatever it likes; a real one saves far fewer."""
UNSEEN = "only the log tells of it: its files were not looked at from here"
_MAX_PATH_CHARS = 1_000
_RATE_KEY = "eval/all/pass_at_1"
_POINTS = 10_000


@dataclass(frozen=True, slots=True)
class SavedLine:
    """What a line of a run's log says was saved. `path` is the checkpoint's folder."""

    kind: CheckpointKind
    step: int
    path: str


async def note_log(
    session: AsyncSession,
    run: Run,
    attempt_number: int,
    lines: Sequence[SavedLine],
    *,
    now: datetime,
) -> None:
    """Stores what the log says, and has the run's folder looked at."""
    if not await repository.wake(session, run.id, now):
        session.add(CheckpointWatch(id=new_id(), run_id=run.id, revision=1, due_at=now))
        await session.flush()
    newest = {(line.kind, line.step): line for line in lines if _is_kept(line)}
    known = await _known(session, run, [step for _, step in newest])
    room = MAX_CHECKPOINTS
    if newest.keys() - known.keys():
        room -= await repository.count_of_run(session, run.id)
    for place, line in newest.items():
        row = known.get(place)
        if row is None and room > 0:
            room -= 1
            row = _new(run, line.kind, line.step, now)
            row.is_complete = line.kind is CheckpointKind.STATE
            row.problem = "" if row.is_complete else UNSEEN
            session.add(row)
        if row is not None:
            # What was seen of an older attempt's may be of other files.
            row.attempt_number, row.path, row.saved_at = attempt_number, line.path, now
            row.gone_at = None


async def note_folder(
    session: AsyncSession,
    run: Run,
    found: Sequence[Saved],
    looked_for: Sequence[UUID],
    *,
    run_folder: Path,
    now: datetime,
) -> None:
    """Stores what lies in the run's folder; `run` has its attempts.

    Those of the checkpoints `looked_for` that were not found there, but should be, are gone.
    """
    rows = await repository.list_of_run(session, run.id, limit=MAX_CHECKPOINTS)
    known = {(row.kind, row.step): row for row in rows}
    there = set()
    for saved in found:
        row = known.get((saved.kind, saved.step))
        if len(str(saved.path)) > _MAX_PATH_CHARS or (
            row is None and len(known) >= MAX_CHECKPOINTS
        ):
            continue
        if row is None:
            row = known[saved.kind, saved.step] = _new(run, saved.kind, saved.step, now)
            row.attempt_number = _attempt_at(run.attempts, saved.saved_at)
            session.add(row)
        there.add(row.id)
        row.path, row.size_bytes = str(saved.path), saved.size_bytes
        row.saved_at = _time_of(saved.saved_at, now)
        row.is_complete, row.problem = not saved.problem, saved.problem
        row.seen_at, row.gone_at = now, None
    for row in rows:
        is_lost = row.id in looked_for and row.id not in there and row.gone_at is None
        if is_lost and inside(run_folder, row.path) is not None:
            row.gone_at, row.is_complete = now, False
            row.problem = "its folder is gone: the trainer keeps only the newest ones"


async def get(session: AsyncSession, slug: str) -> Checkpoint:
    """With its run, and that run's config, experiment and cluster. Raises `NotFound`."""
    row = await repository.find_by_slug(session, slug)
    if row is None:
        raise NotFound(f"there is no checkpoint {slug}")
    return row


async def list_page(
    session: AsyncSession,
    run: Run,
    *,
    kind: CheckpointKind | None = None,
    limit: int = 50,
    cursor: str | None = None,
) -> Page[Shown]:
    """The highest step first. Raises `Invalid` for a cursor of another list."""
    return (await list_with_best(session, run, kind=kind, limit=limit, cursor=cursor))[0]


async def list_with_best(
    session: AsyncSession,
    run: Run,
    *,
    kind: CheckpointKind | None = None,
    limit: int = 50,
    cursor: str | None = None,
) -> tuple[Page[Shown], Best]:
    """As `list_page`, with the steps that did best of all."""
    after = _place(cursor) if cursor else None
    rows = await repository.list_of_run(session, run.id, kind=kind, after=after, limit=limit + 1)
    exports = await repository.list_of_run(
        session, run.id, kind=CheckpointKind.ADAPTER, limit=MAX_CHECKPOINTS
    )
    shown, best = await _shown(session, run, rows, exports)
    return page_of(shown, limit, lambda each: [each.row.step, str(each.row.id)]), best


async def find_best_exportable(session: AsyncSession, run: Run) -> Checkpoint | None:
    """The adapter that did best of those that can be promoted; None if none was measured."""
    exports = await repository.list_of_run(
        session, run.id, kind=CheckpointKind.ADAPTER, limit=MAX_CHECKPOINTS
    )
    if not exports:
        return None
    _, best = await _shown(session, run, exports, exports)
    return next((row for row in exports if row.id == best.exportable), None)


async def evaluation_of(session: AsyncSession, row: Checkpoint, run: Run) -> EvaluationCount | None:
    """What the run measured with the weights of this checkpoint; None if it did not."""
    return of_checkpoint(row, await metrics.list_evaluation_counts(session, run))


async def _shown(
    session: AsyncSession, run: Run, rows: Sequence[Checkpoint], exports: Sequence[Checkpoint]
) -> tuple[list[Shown], Best]:
    counts = await metrics.list_evaluation_counts(session, run)
    passes: dict[int, float] = {}
    if rows and not counts:
        views = await metrics.read_series(session, [run], [_RATE_KEY], max_points=_POINTS)
        for view in views:
            columns = view.columns
            passes = dict(zip(columns.steps.tolist(), columns.values.tolist(), strict=True))
    passes = {step: value for step, value in passes.items() if isfinite(value)}
    best = find_best(exports, counts, passes)
    return [show(row, best, counts, passes) for row in rows], best


async def _known(
    session: AsyncSession, run: Run, steps: Sequence[int]
) -> dict[tuple[CheckpointKind, int], Checkpoint]:
    rows = await repository.list_of_steps(session, run.id, steps) if steps else []
    return {(row.kind, row.step): row for row in rows}


def _is_kept(line: SavedLine) -> bool:
    # The name alone tells the step: two that differ are no trainer's line.
    return len(line.path) <= _MAX_PATH_CHARS and step_of(line.path) == line.step


def _new(run: Run, kind: CheckpointKind, step: int, now: datetime) -> Checkpoint:
    return Checkpoint(
        id=new_id(),
        slug=new_slug("ckpt"),
        project_id=run.project_id,
        run_id=run.id,
        kind=kind,
        step=step,
        problem="",
        saved_at=now,
    )


def _time_of(seconds: float, now: datetime) -> datetime:
    """`now` for what lies ahead of it or in no year: a job may set any time on its files."""
    if not 0 <= seconds <= now.timestamp():
        return now
    return datetime.fromtimestamp(seconds, UTC)


def _attempt_at(attempts: Sequence[Attempt], seconds: float) -> int:
    """The attempt that ran at that time, as far as the clocks agree."""
    begun = [a for a in attempts if a.started_at and a.started_at.timestamp() <= seconds]
    return begun[-1].number if begun else attempts[0].number if attempts else 1


def _place(cursor: str) -> tuple[int, UUID]:
    step, id_ = decode_cursor(cursor, 2)
    try:
        if type(step) is not int:
            raise ValueError(step)
        return step, UUID(id_)
    except (ValueError, TypeError, AttributeError):
        message = "this cursor was not made by this list: start again without one"
        raise Invalid(message, [Problem("cursor", "cursor", message)]) from None
