"""Points of runs that were deleted long ago, removed in small transactions."""

from datetime import datetime, timedelta

from sqlalchemy import Delete, and_, delete, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.models import MetricChunk, MetricSeries, Run

KEPT = timedelta(days=30)
"""How long a deleted run can be restored with its points."""
BATCH = 250
"""Rows of one transaction: some 1 MB, gone in milliseconds, so nobody waits for the lock."""


async def prune(session: AsyncSession, now: datetime) -> bool:
    """Deletes at most `BATCH` chunks, or series; returns whether there may be more.

    A series goes with the last of its chunks. The run's row stays, as what happened stays.
    """
    old = select(Run.id).where(Run.deleted_at < now - KEPT)
    some = select(MetricSeries.id).where(MetricSeries.run_id.in_(old)).limit(BATCH)
    series = sorted(await session.scalars(some))
    table = MetricChunk
    of_series = table.series_id.in_(series)
    query = select(table.series_id, table.seq).where(of_series)
    # In order, so that the last of them tells which ones they are.
    query = query.order_by(table.series_id, table.seq).offset(BATCH - 1).limit(1)
    last = (await session.execute(query)).first()
    if last is not None:
        is_part = and_(table.series_id == last.series_id, table.seq <= last.seq)
        chunks = delete(table).where(of_series, or_(table.series_id < last.series_id, is_part))
        await _delete(session, chunks)
        return True
    if series:
        await _delete(session, delete(table).where(of_series))
        await _delete(session, delete(MetricSeries).where(MetricSeries.id.in_(series)))
    return len(series) == BATCH


async def _delete(session: AsyncSession, statement: Delete) -> None:
    await session.execute(statement, execution_options={"synchronize_session": False})
