"""Metric series for charts and tables: whole, thinned, or only what is new since a cursor."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app.access.principal import Actor
from app.audit import service as audit
from app.audit.actions import Action
from app.audit.service import Target
from app.errors import Invalid, Problem
from app.metrics import repository
from app.metrics.charts import HERO_KEY
from app.metrics.ingest import MetricPoint, columns_of, ingest, ingest_columns
from app.metrics.pruning import prune
from app.metrics.repository import EvaluationCount, SolveCount
from app.metrics.series import (
    MIN_DOWNSAMPLED_POINTS,
    AttemptColumns,
    Columns,
    downsample,
    unpack,
    visible_points,
)
from app.metrics.summaries import SeriesSummary
from app.models import MetricChunk, MetricSeries, Run, TrainingEvaluation
from app.secrets import service as secrets

__all__ = [
    "EvaluationCount",
    "LoadedSeries",
    "MetricPoint",
    "PushPlace",
    "SeriesView",
    "SolveCount",
    "ingest",
    "list_series",
    "load_series",
    "prune",
    "push",
    "read_series",
]

SOLVE_RATE = HERO_KEY
MAX_SERIES = 2_000
MAX_POINTS = 2_000_000
"""Stored points that one call of the API may unpack, unless they are of a single series."""
MAX_KEYS = 20_000
"""Keys of a run that is fed by pushes; a log cannot say no, so it has no such limit."""
# What the column of a count can hold.
_LARGEST_COUNT = 2**31
X_AXES = ("step", "time", "relative")


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


@dataclass(frozen=True, slots=True, eq=False)
class SeriesView:
    """Points to draw, sorted by step.

    `times` are Unix seconds, or seconds since the run started for x `relative`; None for x
    `step`. `is_new` says that `columns` hold only points after the cursor that was given, to be
    appended; otherwise they replace what is shown. `is_sampled`: thinned to `max_points`.
    """

    run: str
    key: str
    attempt: int
    columns: Columns
    is_new: bool
    is_sampled: bool
    cursor: str


@dataclass(frozen=True, slots=True)
class _Cursor:
    """Where a reader stands in one series: stored points, newest attempt, last step shown."""

    series_id: int
    stored_count: int
    attempt: int
    last_step: int

    def __str__(self) -> str:
        return f"{self.series_id}:{self.stored_count}:{self.attempt}:{self.last_step}"


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
        row.key: str(_Cursor(row.id, row.stored_count, row.newest_attempt, row.last_step or 0))
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
        if known + len(keys) > MAX_KEYS:
            raise _invalid("key", f"a run has at most {MAX_KEYS:,} keys; no point was stored")
        # One text: thousands of keys are looked through at once.
        await secrets.refuse_values(session, [place.project_id], {"key": "\n".join(keys)})

    target = Target("run", place.slug, place.project_id)
    await audit.record_daily(session, actor, Action.RUN_PUSH, target)
    return await ingest_columns(session, place.run_id, place.attempt, columns, admit=admit)


async def read_series(
    session: AsyncSession,
    runs: Sequence[Run],
    keys: Sequence[str],
    *,
    x: str = "step",
    max_points: int = 1_000,
    since: Sequence[str] = (),
) -> list[SeriesView]:
    """The series of `keys` in `runs`, in that order, without those that have no points.

    `since` holds cursors of earlier answers: such a series comes with its new points alone, and
    not at all if there are none, unless an older point changed. Three queries however many series.
    Raises `Invalid` for a cursor that is none, and beyond `MAX_SERIES`.
    """
    loaded = await load_series(session, runs, keys, x=x, since=since)
    return await asyncio.to_thread(loaded.views, max_points)


async def load_series(
    session: AsyncSession,
    runs: Sequence[Run],
    keys: Sequence[str],
    *,
    x: str = "step",
    since: Sequence[str] = (),
    max_stored: int | None = None,
) -> "LoadedSeries":
    """The first half of `read_series`: all that it wants from the database.

    Raises as it does, and `Invalid` if more than `max_stored` points of several series must be
    unpacked. A run's own page sets no such limit: it would lose its live charts.
    """
    if x not in X_AXES:
        raise _invalid("x", f"x is one of {', '.join(X_AXES)}")
    if len(runs) * len(keys) > MAX_SERIES:
        raise _invalid("key", f"at most {MAX_SERIES} series at once")
    found = await repository.find_series(session, [run.id for run in runs], keys, has_tail=True)
    cursors = {cursor.series_id: cursor for cursor in map(_parse_cursor, since)}
    news = [row for row in found if _is_news(row, cursors.get(row.id))]
    fresh = await _new_points(session, news, cursors)
    whole = [row for row in news if row.id not in fresh]
    if max_stored is not None:
        _limit_points(whole, max_stored)
    chunks = await repository.chunks_of(session, [(row.id, 0) for row in whole])
    return LoadedSeries(runs, keys, x, news, fresh, chunks)


@dataclass(frozen=True, slots=True, eq=False)
class LoadedSeries:
    """Series as they are stored. No session is needed any more, nor the event loop."""

    runs: Sequence[Run]
    keys: Sequence[str]
    x: str
    rows: Sequence[MetricSeries]
    fresh: dict[int, Columns]
    chunks: dict[int, list[MetricChunk]]

    def views(self, max_points: int) -> list[SeriesView]:
        """What `read_series` gives. Takes seconds for millions of points: call it in a thread."""
        found = {(row.run_id, row.key): row for row in self.rows}
        placed = [
            (run, row)
            for run in self.runs
            for key in self.keys
            if (row := found.get((run.id, key)))
        ]
        return [
            _placed(_view(row, columns, row.id in self.fresh, max_points), run, self.x)
            for run, row in placed
            if len(columns := self._columns(row))
        ]

    def _columns(self, row: MetricSeries) -> Columns:
        if row.id in self.fresh:
            return self.fresh[row.id]
        return visible_points([*columns_of(self.chunks.get(row.id, [])), *_tail(row)]).columns


def _limit_points(rows: Sequence[MetricSeries], limit: int) -> None:
    count = sum(row.stored_count for row in rows)
    if len(rows) > 1 and count > limit:
        message = f"these series hold {count:,} points, at most {limit:,} are read at once"
        raise _invalid("key", f"{message}: ask for fewer runs or keys")


async def _new_points(
    session: AsyncSession, rows: Sequence[MetricSeries], cursors: dict[int, _Cursor]
) -> dict[int, Columns]:
    """The points after the readers' cursors, for the series where these may just be appended.

    Not where a newer attempt hides older points or a step came out of order: what is shown
    already has changed there.
    """
    places = {
        row.id: cursor
        for row in rows
        if (cursor := cursors.get(row.id)) and cursor.attempt == row.newest_attempt
    }
    chunks = await repository.chunks_of(
        session, [(series_id, cursor.stored_count) for series_id, cursor in places.items()]
    )
    appended = [(row, places[row.id]) for row in rows if row.id in places]
    return await asyncio.to_thread(_continuing, appended, chunks)


def _continuing(
    places: Sequence[tuple[MetricSeries, _Cursor]], chunks: dict[int, list[MetricChunk]]
) -> dict[int, Columns]:
    found: dict[int, Columns] = {}
    for row, cursor in places:
        columns = _after(row, chunks.get(row.id, []), cursor.stored_count)
        if columns is not None and SeriesSummary(last_step=cursor.last_step).continues(columns):
            found[row.id] = columns
    return found


def _after(row: MetricSeries, chunks: list[MetricChunk], index: int) -> Columns | None:
    """The points from the stored index on, as they were stored; None: some of an older attempt."""
    parts = [*columns_of(chunks), *_tail(row)]
    if any(part.attempt != row.newest_attempt for part in parts):
        return None
    firsts = [*(chunk.first_index for chunk in chunks), row.stored_count - row.tail_count]
    return Columns.concatenate(
        part.columns.take(slice(max(0, index - first), None))
        for part, first in zip(parts, firsts, strict=False)
    )


def _tail(row: MetricSeries) -> list[AttemptColumns]:
    return [AttemptColumns(row.tail_attempt, unpack(row.tail))] if row.tail_count else []


def _view(series: MetricSeries, columns: Columns, is_new: bool, max_points: int) -> SeriesView:
    kept, is_sampled = downsample(
        columns.steps, columns.values, max_points=max(max_points, MIN_DOWNSAMPLED_POINTS)
    )
    last_step = int(columns.steps[-1])
    place = _Cursor(series.id, series.stored_count, series.newest_attempt, last_step)
    return SeriesView(
        run="",
        key=series.key,
        attempt=series.newest_attempt,
        columns=columns.take(kept),
        is_new=is_new,
        is_sampled=is_sampled,
        cursor=str(place),
    )


def _placed(view: SeriesView, run: Run, x: str) -> SeriesView:
    columns = view.columns
    if x == "relative":
        origin = (run.started_at or run.created_at).timestamp()
        columns = replace(columns, times=columns.times - origin)
    return SeriesView(
        run.slug, view.key, view.attempt, columns, view.is_new, view.is_sampled, view.cursor
    )


def _is_news(series: MetricSeries, cursor: _Cursor | None) -> bool:
    return cursor is None or cursor.stored_count != series.stored_count


def _parse_cursor(text: str) -> _Cursor:
    try:
        series_id, stored, attempt, last_step = text.split(":")
        cursor = _Cursor(int(series_id), int(stored), int(attempt), int(last_step))
        if 0 <= cursor.stored_count < _LARGEST_COUNT:
            return cursor
    except ValueError:
        pass
    raise _invalid("since", "this cursor was not made by this list")


def _invalid(field: str, message: str) -> Invalid:
    return Invalid(message, [Problem(field, "choices", message)])
