"""Points of runs that were deleted long ago, removed in small transactions."""

from datetime import datetime, timedelta

from sqlalchemy import and_, delete, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.models import MetricChunk, MetricSeries, Run

KEPT = timedelta(days=30)
"""How long a deleted run can be restored with its points."""
BATCH = 500
"""Rows of one transaction: some 2 MB, gone in milliseconds, so nobody waits for the lock."""


async def prune(session: AsyncSession, now: datetime) -> bool:
    """Deletes at most `BATCH` rows; returns whether there may be more.

    Chunks go first, then their series. The run's row stays, as what happened stays.
    """
    gone = select(MetricSeries.id).join(Run, Run.id == MetricSeries.run_id)
    gone = gone.where(Run.deleted_at < now - KEPT)
    table = MetricChunk
    query = select(table.series_id, table.seq).where(table.series_id.in_(gone)).limit(BATCH)
    chunks = (await session.execute(query)).all()
    if chunks:
        parts: dict[int, list[int]] = {}
        for series_id, seq in chunks:
            parts.setdefault(series_id, []).append(seq)
        wanted = [and_(table.series_id == key, table.seq.in_(seqs)) for key, seqs in parts.items()]
        await _delete(session, delete(table).where(or_(*wanted)))
        return True
    found = list(await session.scalars(gone.limit(BATCH)))
    if found:
        await _delete(session, delete(MetricSeries).where(MetricSeries.id.in_(found)))
    return len(found) == BATCH


async def _delete(session: AsyncSession, statement: object) -> None:
    options = {"synchronize_session": False}
    await session.execute(statement, execution_options=options)  # type: ignore[call-overload]
