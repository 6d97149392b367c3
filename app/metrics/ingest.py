"""Takes points into the series store, inside the caller's transaction."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app.ids import new_id
from app.metrics import repository
from app.metrics.charts import direction_of
from app.metrics.series import CHUNK_POINTS, AttemptColumns, Columns, append, pack, unpack
from app.metrics.series import visible_points as shown
from app.metrics.summaries import SeriesSummary, summarise
from app.models import MetricChunk, MetricSeries

_SUMMARY = ("count", "non_finite", "last", "last_step", "best", "best_step", "min", "max")


@dataclass(frozen=True, slots=True)
class MetricPoint:
    """One logged value. `time` is in Unix seconds; NaN and infinities are kept as such."""

    key: str
    step: int
    value: float
    time: float


async def ingest(
    session: AsyncSession, run_id: UUID, attempt: int, points: Iterable[MetricPoint]
) -> int:
    """Appends points to the run's series and brings their summaries up to date.

    Returns how many were stored. Costs a few queries however many keys there are; the points of
    a series are read again only when a step comes out of order or a new attempt goes back.
    """
    columns = _columns_by_key(points)
    if not columns:
        return 0
    await repository.begin_append(session, run_id)
    known = {
        series.key: series
        for series in await repository.find_series(session, [run_id], list(columns))
    }
    newest = await repository.newest_chunks(session, [series.id for series in known.values()])
    known |= {key: _new_series(session, run_id, key) for key in columns if key not in known}
    await session.flush()
    for key, new in columns.items():
        series = known[key]
        before = _summary(series)
        _store(session, series, newest.get(series.id), attempt, new)
        await _summarise(session, series, before, attempt, new)
    return sum(len(new) for new in columns.values())


def _columns_by_key(points: Iterable[MetricPoint]) -> dict[str, Columns]:
    rows: dict[str, list[tuple[int, float, float]]] = {}
    for point in points:
        rows.setdefault(point.key, []).append((point.step, point.value, point.time))
    return {key: Columns.of(triples) for key, triples in rows.items()}


def _new_series(session: AsyncSession, run_id: UUID, key: str) -> MetricSeries:
    series = MetricSeries(
        id=new_id(), run_id=run_id, key=key, count=0, stored_count=0, non_finite=0
    )
    session.add(series)
    return series


def _store(
    session: AsyncSession,
    series: MetricSeries,
    newest: MetricChunk | None,
    attempt: int,
    new: Columns,
) -> None:
    is_open = newest is not None and newest.attempt == attempt and newest.n < CHUNK_POINTS
    tail = unpack(newest.payload) if newest is not None and is_open else None
    seq = -1 if newest is None else newest.seq - is_open
    first_index = series.stored_count - (0 if tail is None else len(tail))
    for part in append(tail, new):
        seq += 1
        chunk = newest if newest is not None and newest.seq == seq else None
        if chunk is None:
            chunk = MetricChunk(series_id=series.id, seq=seq, attempt=attempt)
            session.add(chunk)
        chunk.first_index, chunk.n = first_index, len(part)
        chunk.first_step, chunk.last_step = int(part.steps.min()), int(part.steps.max())
        chunk.payload = pack(part)
        first_index += len(part)
    series.stored_count += len(new)


async def _summarise(
    session: AsyncSession,
    series: MetricSeries,
    before: SeriesSummary,
    attempt: int,
    new: Columns,
) -> None:
    direction = direction_of(series.key)
    if before.continues(new):
        summary = before.extend(new, direction=direction)
    else:
        await session.flush()
        chunks = (await repository.chunks_of(session, [(series.id, 0)])).get(series.id, [])
        summary = summarise(shown(columns_of(chunks)).columns, direction=direction)
    for name, value in asdict(summary).items():
        setattr(series, name, value)
    series.newest_attempt = max(attempt, series.newest_attempt or 1)


def columns_of(chunks: Sequence[MetricChunk]) -> list[AttemptColumns]:
    """The points of stored chunks, in the order of their storing."""
    return [AttemptColumns(chunk.attempt, unpack(chunk.payload)) for chunk in chunks]


def _summary(series: MetricSeries) -> SeriesSummary:
    return SeriesSummary(**{name: getattr(series, name) for name in _SUMMARY})
