"""Where the bytes of uploaded zips are kept: in the database, in chunks.

Any web process may take an upload and any worker may submit it, on another machine too; the
database is the one place that all of them reach, and a backup of it is whole. Chunks are written
in short transactions, a few at a time, so that nobody waits for the lock of a large one; what a
killed process leaves behind belongs to an upload that was never completed, and is cleaned up.
"""

import asyncio
import hashlib
from typing import BinaryIO
from uuid import UUID

from sqlalchemy import select

from app.db import Database
from app.errors import Conflict
from app.models import CodeChunk, CodeUpload

_CHUNK_BYTES = 1 << 20
_CHUNKS_AT_ONCE = 4


async def write(database: Database, upload_id: UUID, file: BinaryIO) -> None:
    """Stores a file, from its beginning, under an upload whose row is stored."""
    await asyncio.to_thread(file.seek, 0)
    seq = 0
    while True:
        payloads = await asyncio.to_thread(_read_some, file)
        if not payloads:
            return
        async with database.write() as session:
            session.add_all(
                CodeChunk(upload_id=upload_id, seq=seq + at, payload=payload)
                for at, payload in enumerate(payloads)
            )
        seq += len(payloads)


async def read(database: Database, upload: CodeUpload, into: BinaryIO) -> None:
    """Appends a stored zip to a file. Raises `Conflict` unless it is what was uploaded."""
    seq, digest = 0, hashlib.sha256()
    while True:
        query = select(CodeChunk.payload).where(
            CodeChunk.upload_id == upload.id,
            CodeChunk.seq >= seq,
            CodeChunk.seq < seq + _CHUNKS_AT_ONCE,
        )
        async with database.read() as session:
            payloads = (await session.scalars(query.order_by(CodeChunk.seq))).all()
        for payload in payloads:
            await asyncio.to_thread(_append, into, payload, digest)
        seq += len(payloads)
        if len(payloads) < _CHUNKS_AT_ONCE:
            break
    if digest.hexdigest() != upload.sha256:
        raise Conflict(f"uploaded code {upload.slug} is not whole any more: upload it again")


def _read_some(file: BinaryIO) -> list[bytes]:
    pieces = [file.read(_CHUNK_BYTES) for _ in range(_CHUNKS_AT_ONCE)]
    return [piece for piece in pieces if piece]


def _append(into: BinaryIO, payload: bytes, digest: "hashlib._Hash") -> None:
    into.write(payload)
    digest.update(payload)
