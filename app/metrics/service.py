"""Metric series of runs: what they hold, summed up and whole, and how points come in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app.access.principal import Actor
from app.audit import service as audit
from app.audit.actions import Action
from app.audit.service import Target
from app.errors import Invalid, Problem
from app.metrics import repository
from app.metrics.axes import Axis, Window
from app.metrics.charts import HERO_KEY
from app.metrics.columns import Columns
from app.metrics.cursors import Cursor
from app.metrics.ingest import MetricPoint, ingest, ingest_columns, ingest_new
from app.metrics.pruning import prune
from app.metrics.reading import is_up_to_date, load_series, mark_of_series, read_series
from app.metrics.repository import EvaluationCount, SolveCount
from app.metrics.series_csv import csv_of
from app.metrics.series_json import series_json
from app.metrics.views import LoadedSeries, Look, SeriesRun, SeriesView
from app.models import MetricSeries, Run, TrainingEvaluation
from app.secrets import service as secrets

__all__ = [
    "Axis",
    "EvaluationCount",
    "LoadedSeries",
    "Look",
    "MetricPoint",
    "PushPlace",
    "SeriesRun",
    "SeriesView",
    "SolveCount",
    "Window",
    "add_new",
    "check_key_count",
    "csv_of",
    "ingest",
    "is_up_to_date",
    "list_series",
    "load_series",
    "mark_of_series",
    "prune",
    "push",
    "read_series",
    "series_json",
]

SOLVE_RATE = HERO_KEY
MAX_POINTS = 2_000_000
"""Stored points that one call of the API may unpack, unless they are of a single series."""
MAX_KEYS = 20_000
"""Keys of a run that is fed by pushes; a log cannot say no, so it has no such limit."""


class HasId(Protocol):
    """A run, or what stands for one."""

    @property
    def id(self) -> UUID: ...


@dataclass(frozen=True, slots=True)
class PushPlace:
    """Where pushed points go: a run, and the number of the attempt that they are of."""

    run_id: UUID
    slug: str
    project_id: UUID
    attempt: int


async def list_series(session: AsyncSession, run: Run) -> Sequence[MetricSeries]:
    """Summaries of all series of a run, by key."""
    return await repository.list_series(session, run.id)


async def list_series_of(
    session: AsyncSession, run_ids: Sequence[UUID]
) -> dict[UUID, list[MetricSeries]]:
    """The same of several runs, in the order in which the keys came."""
    return await repository.list_series_of(session, run_ids)


async def find_newest_evaluation(session: AsyncSession, run: Run) -> TrainingEvaluation | None:
    """The last evaluation of the newest attempt that made one."""
    return await repository.find_newest_evaluation(session, run.id)


async def find_newest_and_untrained(
    session: AsyncSession, run: Run
) -> tuple[TrainingEvaluation | None, TrainingEvaluation | None]:
    """The newest evaluation, and the one that was made before the first step of training."""
    newest = await find_newest_evaluation(session, run)
    if newest is None or newest.step == 0:
        return newest, None
    return newest, await find_evaluation(session, run, 0)


async def find_evaluation(
    session: AsyncSession, run: Run, step: int, *, attempt: int | None = None
) -> TrainingEvaluation | None:
    """The evaluation at a step, of the newest attempt that made one unless another is named."""
    return await repository.find_evaluation(session, run.id, step, attempt=attempt)


async def list_solve_counts(
    session: AsyncSession, runs: Sequence[HasId]
) -> dict[UUID, list[SolveCount]]:
    """The evaluations by run id, by step, in one query and without their items."""
    return await repository.list_solve_counts(session, [run.id for run in runs])


async def list_evaluation_counts(session: AsyncSession, run: Run) -> list[EvaluationCount]:
    """All evaluations of a run, by attempt and step, those that a newer attempt hides included."""
    return await repository.list_evaluation_counts(session, run.id)


async def list_cursors(session: AsyncSession, run: Run) -> dict[str, str]:
    """For each key of a run the cursor of a reader who has all its points; see `read_series`."""
    return {
        row.key: str(Cursor(row.id, row.stored_count, row.newest_attempt, row.last_step or 0))
        for row in await repository.list_series(session, run.id)
    }


async def push(
    session: AsyncSession, place: PushPlace, columns: Mapping[str, Columns], *, actor: Actor
) -> int:
    """Stores points that somebody sends; returns how many.

    Raises `Invalid` beyond `MAX_KEYS` and for new keys that hold a secret. The audit log keeps the
    first push of a day to a run by one token, not each one.
    """

    async def admit(keys: Sequence[str], known: int) -> None:
        check_key_count(known + len(keys))
        # One text: thousands of keys are looked through at once.
        await secrets.refuse_values(session, [place.project_id], {"key": "\n".join(keys)})

    target = Target("run", place.slug, place.project_id)
    await audit.record_daily(session, actor, Action.RUN_PUSH, target)
    return await ingest_columns(session, place.run_id, place.attempt, columns, admit=admit)


async def add_new(session: AsyncSession, given: Mapping[UUID, Mapping[str, Columns]]) -> int:
    """Stores points of runs, by id, that were just made; returns how many.

    What the keys may be is asked of `check_key_count` and of whoever made the runs.
    """
    return await ingest_new(session, given)


def check_key_count(count: int, *, place: str = "key") -> None:
    """Raises `Invalid` beyond `MAX_KEYS`."""
    if count > MAX_KEYS:
        raise _invalid(place, f"a run has at most {MAX_KEYS:,} keys; no point was stored")


def _invalid(field: str, message: str) -> Invalid:
    return Invalid(message, [Problem(field, "choices", message)])
