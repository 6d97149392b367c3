"""Reads series for charts: whole, a window of them, thinned, or only what is new since a cursor."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple, Protocol
from uuid import UUID

import numpy as np
from sqlalchemy.ext.asyncio import AsyncSession

from app.errors import Invalid, Problem
from app.metrics import repository
from app.metrics.axes import Axis, AxisKind, Placed, Window, place
from app.metrics.columns import Columns, Floats, Steps, unpack
from app.metrics.cursors import Cursor, combine, has_mark, mark_of, parse_all
from app.metrics.downsampling import MIN_DOWNSAMPLED_POINTS, downsample
from app.metrics.ingest import columns_of
from app.metrics.series import AttemptColumns, hidden_points, sorted_unique, visible_points
from app.metrics.summaries import SeriesSummary
from app.models import MetricChunk, MetricSeries

MAX_SERIES = 2_000


class SeriesRun(Protocol):
    """What is asked of a run whose series are read."""

    @property
    def id(self) -> UUID: ...
    @property
    def slug(self) -> str: ...
    @property
    def created_at(self) -> datetime: ...
    @property
    def started_at(self) -> datetime | None: ...
    @property
    def metrics_revision(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Look:
    """How series are looked at: along which axis, in which window of it, and whether the points
    that a newer attempt hides are wanted too, as series of their own."""

    axis: Axis = field(default_factory=Axis)
    window: Window = field(default_factory=Window)
    has_hidden: bool = False


class Resume(NamedTuple):
    """The step at which the visible points of a newer attempt begin; `x`: its place on the axis,
    None where it has none."""

    step: int
    attempt: int
    x: float | None


@dataclass(frozen=True, slots=True, eq=False)
class SeriesView:
    """Points to draw, ascending by x, which is the step where `x` is None.

    `x` are Unix seconds, seconds since the run started, or values of the metric that is the axis;
    `missing` points have none and are left out. `is_new` says that `columns` hold only points after
    the cursor that was given, to be appended; otherwise they replace what is shown. `is_sampled`:
    thinned to `max_points`. `is_hidden`: points of `attempt` that a newer one hides; else `attempt`
    is the newest.
    """

    run: str
    key: str
    attempt: int
    columns: Columns
    cursor: str
    x: Floats | None = None
    is_new: bool = False
    is_sampled: bool = False
    is_hidden: bool = False
    missing: int = 0
    first_attempt: int = 1
    resumes: Sequence[Resume] = ()

    @property
    def attempts(self) -> Steps:
        """The attempt that each point comes from, shape (n,)."""
        starts = [resume.step for resume in self.resumes]
        numbers = [self.first_attempt, *(resume.attempt for resume in self.resumes)]
        return np.array(numbers)[np.searchsorted(starts, self.columns.steps, side="right")]


async def read_series(
    session: AsyncSession,
    runs: Sequence[SeriesRun],
    keys: Sequence[str],
    *,
    look: Look | None = None,
    max_points: int = 1_000,
    since: Sequence[str] = (),
) -> list[SeriesView]:
    """The series of `keys` in `runs`, in that order, without those that have no points.

    `since` holds cursors of earlier answers to the same question: such a series comes with its new
    points alone, and not at all if there are none, unless an older point changed. With a window
    or a metric as x axis a series that has news comes whole. Few queries however many series.
    Raises `Invalid` for a cursor that is none, and beyond `MAX_SERIES`.
    """
    loaded = await load_series(session, runs, keys, look=look, since=since)
    return await asyncio.to_thread(loaded.views, max_points)


async def load_series(
    session: AsyncSession,
    runs: Sequence[SeriesRun],
    keys: Sequence[str],
    *,
    look: Look | None = None,
    since: Sequence[str] = (),
    max_stored: int | None = None,
) -> "LoadedSeries":
    """The first half of `read_series`: all that it wants from the database.

    Raises as it does, and `Invalid` if more than `max_stored` points of several series must be
    unpacked. A run's own page sets no such limit: it would lose its live charts.
    """
    look, keys = look or Look(), list(dict.fromkeys(keys))
    if len(runs) * len(keys) > MAX_SERIES:
        raise _invalid("key", f"at most {MAX_SERIES} series at once")
    mark = mark_of([*keys, look, *((run.id, run.metrics_revision) for run in runs)])
    if len(since) == 1 and has_mark(since[0], mark):
        return LoadedSeries(runs, keys, look, cursor=None)
    cursors = _parse(since)
    wanted = [*keys, look.axis.key] if look.axis.key else keys
    rows = await repository.find_series(session, [run.id for run in runs], wanted, has_tail=True)
    found = _Found(look, rows, set(keys), cursors)
    fresh = await _new_points(session, found)
    whole = [row for row in found.news if row.id not in fresh]
    read = {row.id: row for row in [*whole, *found.axes_of(whole)]}
    if max_stored is not None:
        _limit_points(list(read.values()), max_stored)
    chunks = await repository.chunks_of(session, [(series_id, 0) for series_id in read])
    stands = {**cursors, **{row.id: found.stand(row) for row in found.shown}}
    cursor = combine(mark, stands.values()) if len(stands) <= MAX_SERIES else None
    return LoadedSeries(runs, keys, look, found.news, found.axes, fresh, chunks, cursor)


@dataclass(frozen=True, slots=True, eq=False)
class LoadedSeries:
    """Series as they are stored. No session is needed any more, nor the event loop.

    `axes` are the rows of the metric that is the x axis, by run. `cursor` stands for all series of
    the answer; None: nothing is new since the one that was given.
    """

    runs: Sequence[SeriesRun]
    keys: Sequence[str]
    look: Look
    rows: Sequence[MetricSeries] = ()
    axes: Mapping[UUID, MetricSeries] = field(default_factory=dict)
    fresh: Mapping[int, Columns] = field(default_factory=dict)
    chunks: Mapping[int, Sequence[MetricChunk]] = field(default_factory=dict)
    cursor: str | None = None

    def views(self, max_points: int) -> list[SeriesView]:
        """What `read_series` gives. Takes seconds for millions of points: call it in a thread."""
        return list(self.iter_views(max_points))

    def iter_views(self, max_points: int) -> Iterator[SeriesView]:
        """The same one by one, so that not all of them must lie in memory."""
        found = {(row.run_id, row.key): row for row in self.rows}
        for run in self.runs:
            axis_row = self.axes.get(run.id)
            parts = [] if axis_row is None else self._parts(axis_row)
            axis = _Axis(self.look, run, parts)
            for key in self.keys:
                if row := found.get((run.id, key)):
                    yield from self._views(run, row, axis, max_points)

    def _views(
        self, run: SeriesRun, row: MetricSeries, axis: "_Axis", max_points: int
    ) -> Iterator[SeriesView]:
        stand = str(_stand(row, self.axes.get(row.run_id)))
        sketch = _Sketch(run.slug, row.key, stand, axis, max_points)
        if row.id in self.fresh:
            yield sketch.view(self.fresh[row.id], row.newest_attempt, is_new=True)
            return
        parts = self._parts(row)
        visible = visible_points(parts)
        if not len(visible.columns):
            return
        yield sketch.view(visible.columns, row.newest_attempt, attempts=visible.attempts)
        for part in hidden_points(parts) if self.look.has_hidden else ():
            view = sketch.view(part.columns, part.attempt, is_hidden=True)
            if len(view.columns):
                yield view

    def _parts(self, row: MetricSeries) -> list[AttemptColumns]:
        # Those that were sealed after the row was read lie in its tail, too.
        chunks = [chunk for chunk in self.chunks.get(row.id, ()) if chunk.seq < row.chunk_count]
        return [*columns_of(chunks), *_tail(row)]


class _Axis:
    """The x axis for the series of one run; `parts`: the stored points of the axis' metric."""

    def __init__(self, look: Look, run: SeriesRun, parts: Sequence[AttemptColumns]) -> None:
        self.look = look
        self._origin = (run.started_at or run.created_at).timestamp()
        self._shown = visible_points(parts).columns
        self._hidden = {part.attempt: part.columns for part in hidden_points(parts)}

    def place(self, columns: Columns, *, hidden_attempt: int | None) -> Placed:
        metric = self._shown
        if hidden_attempt in self._hidden:
            metric = sorted_unique(metric.then(self._hidden[hidden_attempt]))
        return place(columns, self.look.axis, origin=self._origin, metric=metric)


@dataclass(frozen=True, slots=True)
class _Sketch:
    """What the views of one series have in common."""

    run: str
    key: str
    cursor: str
    axis: _Axis
    max_points: int

    def view(
        self,
        columns: Columns,
        attempt: int,
        *,
        attempts: Steps | None = None,
        is_new: bool = False,
        is_hidden: bool = False,
    ) -> SeriesView:
        placed = self.axis.place(columns, hidden_attempt=attempt if is_hidden else None)
        resumes = _resumes(columns, attempts, self.axis)
        window = self.axis.look.window
        if not window.is_whole:
            placed = placed.take(window.indices(placed.places))
        kept, is_sampled = downsample(
            placed.places,
            placed.columns.values,
            max_points=max(self.max_points, MIN_DOWNSAMPLED_POINTS),
        )
        if is_sampled:
            placed = placed.take(kept)
        return SeriesView(
            run=self.run,
            key=self.key,
            attempt=attempt,
            columns=placed.columns,
            cursor=self.cursor,
            x=placed.x,
            is_new=is_new,
            is_sampled=is_sampled,
            is_hidden=is_hidden,
            missing=placed.missing,
            first_attempt=attempt if attempts is None else int(attempts[0]),
            resumes=resumes,
        )


class _Found:
    """The rows that were found for a question, and what is new in them since its cursors."""

    def __init__(
        self,
        look: Look,
        rows: Sequence[MetricSeries],
        keys: set[str],
        cursors: Mapping[int, Cursor],
    ) -> None:
        self.look, self.cursors = look, cursors
        self.shown = [row for row in rows if row.key in keys]
        self.axes = {row.run_id: row for row in rows if row.key == look.axis.key}
        self.news = [row for row in self.shown if self._is_news(row)]

    def stand(self, row: MetricSeries) -> Cursor:
        return _stand(row, self.axes.get(row.run_id))

    def axes_of(self, rows: Sequence[MetricSeries]) -> list[MetricSeries]:
        """The rows of the axis' metric that these series are placed by."""
        return [self.axes[row.run_id] for row in rows if row.run_id in self.axes]

    def growing(self) -> list[tuple[MetricSeries, Cursor]]:
        """The series whose new points may just be appended, with their readers' cursors."""
        return [
            (row, cursor)
            for row in self.news
            if (cursor := self.cursors.get(row.id)) and self._may_grow(row, cursor)
        ]

    def _is_news(self, row: MetricSeries) -> bool:
        cursor, stand = self.cursors.get(row.id), self.stand(row)
        return cursor is None or (cursor.stored_count, cursor.x_count) != (
            stand.stored_count,
            stand.x_count,
        )

    def _may_grow(self, row: MetricSeries, cursor: Cursor) -> bool:
        """Not along a metric, whose values at older steps may have come by now; and not inside a
        window, which is thinned anew, unless all that is new lies after it."""
        axis, window = self.look.axis, self.look.window
        is_after = axis.kind is AxisKind.STEP and cursor.last_step > window.end
        is_simple = axis.kind is not AxisKind.METRIC and (window.is_whole or is_after)
        return is_simple and cursor.attempt == row.newest_attempt


def _stand(row: MetricSeries, axis: MetricSeries | None) -> Cursor:
    """The cursor of a reader who has all points of a series."""
    x_count = axis.stored_count if axis else 0
    return Cursor(row.id, row.stored_count, row.newest_attempt, row.last_step or 0, x_count)


async def _new_points(session: AsyncSession, found: _Found) -> dict[int, Columns]:
    """The points after the readers' cursors, for the series where these may just be appended.

    Not where a newer attempt hides older points or a step came out of order: what is shown
    already has changed there.
    """
    growing = found.growing()
    chunks = await repository.chunks_of(
        session, [(row.id, cursor.stored_count) for row, cursor in growing]
    )
    return await asyncio.to_thread(_continuing, growing, chunks) if growing else {}


def _continuing(
    growing: Sequence[tuple[MetricSeries, Cursor]], chunks: Mapping[int, Sequence[MetricChunk]]
) -> dict[int, Columns]:
    found: dict[int, Columns] = {}
    for row, cursor in growing:
        columns = _after(row, chunks.get(row.id, []), cursor.stored_count)
        if columns is not None and SeriesSummary(last_step=cursor.last_step).continues(columns):
            found[row.id] = columns
    return found


def _after(row: MetricSeries, chunks: Sequence[MetricChunk], index: int) -> Columns | None:
    """The points from the stored index on, as they were stored; None: some of an older attempt."""
    sealed = [chunk for chunk in chunks if chunk.seq < row.chunk_count]
    parts = [*columns_of(sealed), *_tail(row)]
    if any(part.attempt != row.newest_attempt for part in parts):
        return None
    firsts = [*(chunk.first_index for chunk in sealed), row.stored_count - row.tail_count]
    return Columns.concatenate(
        part.columns.take(slice(max(0, index - first), None))
        for part, first in zip(parts, firsts, strict=False)
    )


def _tail(row: MetricSeries) -> list[AttemptColumns]:
    return [AttemptColumns(row.tail_attempt, unpack(row.tail))] if row.tail_count else []


def _resumes(columns: Columns, attempts: Steps | None, axis: _Axis) -> list[Resume]:
    """Where the points of newer attempts begin."""
    if attempts is None or attempts[0] == attempts[-1]:
        return []
    firsts = np.flatnonzero(np.diff(attempts)) + 1
    placed = axis.place(columns.take(firsts), hidden_attempt=None)
    places = dict(zip(placed.columns.steps.tolist(), placed.places.tolist(), strict=True))
    starts = zip(columns.steps[firsts].tolist(), attempts[firsts].tolist(), strict=True)
    return [Resume(step, attempt, places.get(step)) for step, attempt in starts]


def _limit_points(rows: Sequence[MetricSeries], limit: int) -> None:
    count = sum(row.stored_count for row in rows)
    if len(rows) > 1 and count > limit:
        message = f"these series hold {count:,} points, at most {limit:,} are read at once"
        raise _invalid("key", f"{message}: ask for fewer runs or keys")


def _parse(since: Sequence[str]) -> dict[int, Cursor]:
    try:
        return parse_all(since, most=MAX_SERIES)
    except ValueError:
        raise _invalid("since", "this cursor was not made by this list") from None


def _invalid(field_name: str, message: str) -> Invalid:
    return Invalid(message, [Problem(field_name, "choices", message)])
