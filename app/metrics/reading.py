"""Reads series for charts: whole, a window of them, thinned, or only what is new since a cursor."""

import asyncio
from collections.abc import Mapping, Sequence

from sqlalchemy.ext.asyncio import AsyncSession

from app.errors import Invalid, Problem
from app.metrics import repository
from app.metrics.axes import AxisKind
from app.metrics.columns import Columns, unpack_many
from app.metrics.cursors import Cursor, combine, has_mark, mark_of, parse_all
from app.metrics.repository import ChunkRow, SeriesRow
from app.metrics.summaries import SeriesSummary
from app.metrics.views import LoadedSeries, Look, SeriesRun, SeriesView, stand_of, stored

MAX_SERIES = 2_000


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
    revision = sum(run.metrics_revision for run in runs)
    mark = mark_of_series([run.slug for run in runs], revision, keys, look)
    if len(runs) * len(keys) > MAX_SERIES:
        raise _invalid("key", f"at most {MAX_SERIES} series at once")
    if is_up_to_date(mark, since):
        return LoadedSeries(runs, keys, look, cursor=None)
    cursors = _parse(since)
    wanted = [*keys, look.axis.key] if look.axis.key else keys
    rows = await repository.read_rows(session, [run.id for run in runs], wanted)
    found = _Found(look, rows, set(keys), cursors)
    fresh = await _new_points(session, found)
    whole = [row for row in found.news if row.id not in fresh]
    read = {row.id: row for row in [*whole, *found.axes_of(whole)]}
    if max_stored is not None:
        _limit_points(list(read.values()), max_stored)
    sealed = [(row.id, 0) for row in read.values() if row.chunk_count]
    chunks = await repository.chunks_of(session, sealed)
    stands = {**cursors, **{row.id: found.stand(row) for row in found.shown}}
    cursor = combine(mark, stands.values()) if len(stands) <= MAX_SERIES else None
    return LoadedSeries(runs, keys, look, found.news, found.axes, fresh, chunks, cursor)


def mark_of_series(slugs: Sequence[str], revision: int, keys: Sequence[str], look: Look) -> str:
    """Tells a question and where its runs stand from all others.

    `revision`: the sum of the runs' `metrics_revision`. They only grow: where their sum is the
    same, each of them is.
    """
    keys = list(dict.fromkeys(keys))
    return mark_of([revision, look, len(keys), *keys, *slugs])


def is_up_to_date(mark: str, since: Sequence[str]) -> bool:
    """Whether the cursor of a whole answer says that nothing was logged to any of the runs since.

    Then the answer is empty, and no series need be looked at.
    """
    return len(since) == 1 and has_mark(since[0], mark)


class _Found:
    """The rows that were found for a question, and what is new in them since its cursors."""

    def __init__(
        self,
        look: Look,
        rows: Sequence[SeriesRow],
        keys: set[str],
        cursors: Mapping[int, Cursor],
    ) -> None:
        self.look, self.cursors = look, cursors
        self.shown = [row for row in rows if row.key in keys]
        self.axes = {row.run_id: row for row in rows if row.key == look.axis.key}
        self.news = [row for row in self.shown if self._is_news(row)]

    def stand(self, row: SeriesRow) -> Cursor:
        return stand_of(row, self.axes.get(row.run_id))

    def axes_of(self, rows: Sequence[SeriesRow]) -> list[SeriesRow]:
        """The rows of the axis' metric that these series are placed by."""
        return [self.axes[row.run_id] for row in rows if row.run_id in self.axes]

    def growing(self) -> list[tuple[SeriesRow, Cursor]]:
        """The series whose new points may just be appended, with their readers' cursors."""
        return [
            (row, cursor)
            for row in self.news
            if (cursor := self.cursors.get(row.id)) and self._may_grow(row, cursor)
        ]

    def _is_news(self, row: SeriesRow) -> bool:
        cursor, stand = self.cursors.get(row.id), self.stand(row)
        return cursor is None or (cursor.stored_count, cursor.x_count) != (
            stand.stored_count,
            stand.x_count,
        )

    def _may_grow(self, row: SeriesRow, cursor: Cursor) -> bool:
        """Not along a metric, whose values at older steps may have come by now; and not inside a
        window, which is thinned anew, unless all that is new lies after it."""
        axis, window = self.look.axis, self.look.window
        is_after = axis.kind is AxisKind.STEP and cursor.last_step > window.end
        is_simple = axis.kind is not AxisKind.METRIC and (window.is_whole or is_after)
        return is_simple and cursor.attempt == row.newest_attempt


async def _new_points(session: AsyncSession, found: _Found) -> dict[int, Columns]:
    """The points after the readers' cursors, for the series where these may just be appended.

    Not where a newer attempt hides older points or a step came out of order: what is shown
    already has changed there.
    """
    growing = found.growing()
    sealed = [
        (row.id, cursor.stored_count)
        for row, cursor in growing
        if cursor.stored_count < row.stored_count - row.tail_count
    ]
    chunks = await repository.chunks_of(session, sealed)
    return await asyncio.to_thread(_continuing, growing, chunks) if growing else {}


def _continuing(
    growing: Sequence[tuple[SeriesRow, Cursor]], chunks: Mapping[int, Sequence[ChunkRow]]
) -> dict[int, Columns]:
    """The points after the cursors, as they were stored, where none is of an older attempt and all
    lie after the last step shown."""
    pieces = [(row, cursor, stored(row, chunks.get(row.id, ()))) for row, cursor in growing]
    # All at once: a hundred tails of few points are mostly alike.
    columns = iter(unpack_many([payload for _, _, some in pieces for _, payload in some]))
    found: dict[int, Columns] = {}
    for row, cursor, some in pieces:
        parts = [next(columns) for _ in some]
        if any(attempt != row.newest_attempt for attempt, _ in some):
            continue
        first = row.stored_count - sum(map(len, parts))
        new = Columns.concatenate(parts).take(slice(max(0, cursor.stored_count - first), None))
        if SeriesSummary(last_step=cursor.last_step).continues(new):
            found[row.id] = new
    return found


def _limit_points(rows: Sequence[SeriesRow], limit: int) -> None:
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
