"""Stored logs of attempts: appended by the worker, read by line or whole."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app.clock import utcnow
from app.db import Database
from app.logs import chunks, repository
from app.logs.scan import Scan
from app.models import LogChunk, LogStream, Run

CHUNK_BYTES = 128 * 1024
MAX_LINES = 5_000
SEARCH_BYTES = 16_000_000
"""How far one search goes; its answer says where to go on."""
_CHUNKS_PER_QUERY = 4


@dataclass(frozen=True, slots=True)
class LogPage:
    """Some lines of a log. `is_complete`: no more bytes will come.

    `next_line` is where the next page starts; None if this one reached the end of what is stored.
    """

    lines: list[chunks.LogLine]
    total_lines: int
    is_complete: bool
    next_line: int | None = None


async def append(session: AsyncSession, stream: LogStream, data: bytes) -> None:
    """Stores the bytes that follow `stream.n_bytes` and moves the stream's counts.

    The newest chunk is rewritten until it holds `CHUNK_BYTES`, so that a log followed second by
    second does not become thousands of rows.
    """
    if not data:
        return
    chunk = await repository.find_newest_chunk(session, stream.id)
    if chunk is None or chunk.n_bytes >= CHUNK_BYTES:
        seq = 0 if chunk is None else chunk.seq + 1
        session.add(_new_chunk(stream, seq, data))
    else:
        _fill(chunk, chunks.unpack(chunk.payload) + data)
    stream.n_bytes += len(data)
    stream.n_lines += data.count(b"\n")
    stream.has_open_line = not data.endswith(b"\n")
    stream.updated_at = utcnow()


async def read_lines(
    session: AsyncSession,
    run: Run,
    *,
    attempt: int | None = None,
    from_line: int | None = None,
    limit: int = 500,
    q: str = "",
) -> LogPage:
    """Lines from number `from_line` on; the last `limit` ones if it is None.

    With `q`, only lines that contain it (case ignored, colours left out), from the start of the
    log if `from_line` is None; a search ends after `SEARCH_BYTES`, and goes on from `next_line`.
    An attempt without a log yet gives an empty page. Lines are cut at `MAX_LINE_BYTES`.
    """
    stream = await repository.find_stream(session, run.id, attempt)
    if stream is None:
        return LogPage([], 0, is_complete=False)
    limit = max(1, min(limit, MAX_LINES))
    total = stream.n_lines + stream.has_open_line
    start = from_line or (1 if q else total - limit + 1)
    # Beyond the end is beyond the end: a number of any size may be asked for.
    start = min(start, total + 1)
    scan = Scan(max(1, start), limit=limit, text=q, max_bytes=SEARCH_BYTES if q else None)
    await _run(scan, session, stream.id)
    more = scan.next_line if scan.is_full and scan.next_line <= total else None
    return LogPage(scan.found, total, stream.is_complete, more)


async def find_stream(session: AsyncSession, run: Run, attempt: int | None) -> LogStream | None:
    """How far the log of an attempt was followed; the newest attempt's if None."""
    return await repository.find_stream(session, run.id, attempt)


async def iter_bytes(database: Database, stream_id: UUID) -> AsyncIterator[bytes]:
    """The exact bytes stored so far. Opens a session per step: never held over the sending."""
    seq = -1
    while True:
        async with database.read() as session:
            rows = await repository.chunks_from_line(
                session, stream_id, 0, after_seq=seq, limit=_CHUNKS_PER_QUERY
            )
        for row in rows:
            yield chunks.unpack(row.payload)
        if not rows:
            return
        seq = rows[-1].seq


async def read_tail(session: AsyncSession, stream_id: UUID, max_bytes: int) -> bytes:
    """The last stored bytes, `max_bytes` of them at the most."""
    found = b""
    for chunk in await repository.newest_chunks(session, stream_id, enough_bytes=max_bytes):
        found = chunks.unpack(chunk.payload) + found
    return found[-max_bytes:]


async def _run(scan: Scan, session: AsyncSession, stream_id: UUID) -> None:
    start, seq = scan.next_line, -1
    while not scan.is_full:
        rows = await repository.chunks_from_line(
            session, stream_id, start, after_seq=seq, limit=_CHUNKS_PER_QUERY
        )
        if not rows:
            scan.finish()
            return
        seq = rows[-1].seq
        # In a thread: the search of a long log would hold up all other requests.
        await asyncio.to_thread(scan.feed, rows[0].first_line, [row.payload for row in rows])


def _new_chunk(stream: LogStream, seq: int, data: bytes) -> LogChunk:
    chunk = LogChunk(
        stream_id=stream.id,
        seq=seq,
        first_byte=stream.n_bytes,
        first_line=stream.n_lines + 1,
    )
    _fill(chunk, data)
    return chunk


def _fill(chunk: LogChunk, data: bytes) -> None:
    packed = chunks.pack(data, first_line=chunk.first_line)
    chunk.payload = packed.payload
    chunk.n_bytes = packed.byte_count
    chunk.n_lines = packed.line_count
