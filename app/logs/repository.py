"""Queries on log streams and their chunks."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app.models import LogChunk, LogStream

# More than the column of a number holds: PostgreSQL would refuse to compare with it.
_LARGEST_NUMBER = 2**31 - 1


async def find_stream(session: AsyncSession, run_id: UUID, attempt: int | None) -> LogStream | None:
    """The stream of an attempt; of the newest one if `attempt` is None."""
    if attempt is not None and attempt > _LARGEST_NUMBER:
        return None
    query = select(LogStream).where(LogStream.run_id == run_id)
    if attempt is not None:
        query = query.where(LogStream.attempt_number == attempt)
    return await session.scalar(query.order_by(LogStream.attempt_number.desc()).limit(1))


async def find_newest_chunk(session: AsyncSession, stream_id: UUID) -> LogChunk | None:
    query = select(LogChunk).where(LogChunk.stream_id == stream_id)
    return await session.scalar(query.order_by(LogChunk.seq.desc()).limit(1))


async def newest_chunks(
    session: AsyncSession, stream_id: UUID, *, enough_bytes: int
) -> Sequence[LogChunk]:
    """The last chunks, newest first, until they hold `enough_bytes` or are all there are."""
    query = (
        select(LogChunk)
        .join(LogStream, LogStream.id == LogChunk.stream_id)
        .where(
            LogChunk.stream_id == stream_id,
            LogChunk.first_byte + LogChunk.n_bytes > LogStream.n_bytes - enough_bytes,
        )
        .order_by(LogChunk.seq.desc())
    )
    return (await session.scalars(query)).all()


async def chunks_from_line(
    session: AsyncSession, stream_id: UUID, line: int, *, after_seq: int, limit: int
) -> Sequence[LogChunk]:
    """Chunks that hold `line` or later ones, in order, after the chunk `after_seq`."""
    query = (
        select(LogChunk)
        .where(
            LogChunk.stream_id == stream_id,
            LogChunk.seq > after_seq,
            LogChunk.first_line + LogChunk.n_lines >= line,
        )
        .order_by(LogChunk.seq)
        .limit(limit)
    )
    return (await session.scalars(query)).all()
