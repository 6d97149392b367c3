"""Series that were read, made into what charts draw: placed, cut to a window and thinned."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple, Protocol
from uuid import UUID

import numpy as np

from app.metrics.axes import Axis, AxisKind, Placed, Window, place
from app.metrics.columns import Columns, Floats, Steps, unpack_many
from app.metrics.cursors import Cursor
from app.metrics.downsampling import MIN_DOWNSAMPLED_POINTS, downsample
from app.metrics.repository import ChunkRow, SeriesRow
from app.metrics.series import AttemptColumns, AttemptParts, parted, sorted_unique

# Stored points that are unpacked together.
_POINTS_AT_ONCE = 1_000_000


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


@dataclass(frozen=True, slots=True, eq=False)
class LoadedSeries:
    """Series as they are stored. No session is needed any more, nor the event loop.

    `axes` are the rows of the metric that is the x axis, by run. `cursor` stands for all series of
    the answer; None: nothing is new since the one that was given.
    """

    runs: Sequence[SeriesRun]
    keys: Sequence[str]
    look: Look
    rows: Sequence[SeriesRow] = ()
    axes: Mapping[UUID, SeriesRow] = field(default_factory=dict)
    fresh: Mapping[int, Columns] = field(default_factory=dict)
    chunks: Mapping[int, Sequence[ChunkRow]] = field(default_factory=dict)
    cursor: str | None = None

    def views(self, max_points: int) -> list[SeriesView]:
        """What `read_series` gives. Takes seconds for millions of points: call it in a thread."""
        return list(self.iter_views(max_points))

    def iter_views(self, max_points: int, *, has_times: bool = True) -> Iterator[SeriesView]:
        """The same one by one, so that not all of them must lie in memory.

        `has_times` False leaves the columns of times empty where the axis needs none.
        """
        has_times = has_times or self.look.axis.kind in (AxisKind.TIME, AxisKind.RELATIVE)
        for group in self._groups():
            axes = [self.axes[run.id] for run, _ in group if run.id in self.axes]
            points = self._unpacked([*axes, *(row for _, row in group)], has_times)
            for run, row in group:
                axis_row = self.axes.get(run.id)
                axis = _Axis(self.look, run, [] if axis_row is None else points[axis_row.id])
                yield from self._views(run, row, points[row.id], axis, max_points)

    def _groups(self) -> Iterator[list[tuple[SeriesRun, SeriesRow]]]:
        """The series in the order that was asked for, some that are unpacked together at a time."""
        found = {(row.run_id, row.key): row for row in self.rows}
        group: list[tuple[SeriesRun, SeriesRow]] = []
        count = 0
        for run in self.runs:
            for key in self.keys:
                if row := found.get((run.id, key)):
                    group.append((run, row))
                    count += row.stored_count
                if count > _POINTS_AT_ONCE:
                    yield group
                    group, count = [], 0
        yield group

    def _unpacked(
        self, rows: Iterable[SeriesRow], has_times: bool
    ) -> dict[int, list[AttemptColumns]]:
        """The stored points of series, in the order of their storing; of fresh ones, none."""
        places: list[tuple[int, int]] = []
        payloads: list[bytes] = []
        found: dict[int, list[AttemptColumns]] = {}
        for row in rows:
            if row.id in found:
                continue
            found[row.id] = []
            if row.id not in self.fresh:
                for attempt, payload in stored(row, self.chunks.get(row.id, ())):
                    places.append((row.id, attempt))
                    payloads.append(payload)
        columns = unpack_many(payloads, has_times=has_times)
        for (series_id, attempt), part in zip(places, columns, strict=True):
            found[series_id].append(AttemptColumns(attempt, part))
        return found

    def _views(
        self,
        run: SeriesRun,
        row: SeriesRow,
        points: Sequence[AttemptColumns],
        axis: "_Axis",
        max_points: int,
    ) -> Iterator[SeriesView]:
        stand = str(stand_of(row, self.axes.get(row.run_id)))
        sketch = _Sketch(run.slug, row.key, stand, axis, max_points)
        if row.id in self.fresh:
            yield sketch.view(self.fresh[row.id], row.newest_attempt, is_new=True)
            return
        parts = parted(points)
        visible = Columns.concatenate([part.visible for part in parts])
        if not len(visible):
            return
        yield sketch.view(visible, row.newest_attempt, parts=parts)
        for part in parts if self.look.has_hidden else ():
            if len(part.hidden):
                view = sketch.view(part.hidden, part.attempt, is_hidden=True)
                if len(view.columns):
                    yield view


class _Axis:
    """The x axis for the series of one run; `points`: the stored ones of the axis' metric."""

    def __init__(self, look: Look, run: SeriesRun, points: Sequence[AttemptColumns]) -> None:
        self.look = look
        self._origin = (run.started_at or run.created_at).timestamp()
        parts = parted(points)
        self._shown = Columns.concatenate([part.visible for part in parts])
        self._hidden = {part.attempt: part.hidden for part in parts}

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
        parts: Sequence[AttemptParts] = (),
        is_new: bool = False,
        is_hidden: bool = False,
    ) -> SeriesView:
        placed = self.axis.place(columns, hidden_attempt=attempt if is_hidden else None)
        shown = [part for part in parts if len(part.visible)]
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
            first_attempt=shown[0].attempt if shown else attempt,
            resumes=_resumes(shown[1:], self.axis),
        )


def stand_of(row: SeriesRow, axis: SeriesRow | None) -> Cursor:
    """The cursor of a reader who has all points of a series."""
    x_count = axis.stored_count if axis else 0
    return Cursor(row.id, row.stored_count, row.newest_attempt, row.last_step or 0, x_count)


def stored(row: SeriesRow, chunks: Sequence[ChunkRow]) -> list[tuple[int, bytes]]:
    """The pieces of a series, with their attempts."""
    # What was sealed after the row was read lies in its tail, too.
    found = [(chunk.attempt, chunk.payload) for chunk in chunks if chunk.seq < row.chunk_count]
    return [*found, (row.tail_attempt, row.tail)] if row.tail_count else found


def _resumes(parts: Sequence[AttemptParts], axis: _Axis) -> list[Resume]:
    """Where the visible points of each of these attempts begin."""
    found = []
    for part in parts:
        first = part.visible.take(slice(1))
        places = axis.place(first, hidden_attempt=None).places.tolist()
        found.append(Resume(int(first.steps[0]), part.attempt, places[0] if places else None))
    return found
