"""Takes an upload's bytes as they arrive, into a file without a name: none can be left over."""

import asyncio
import hashlib
import tempfile
from collections.abc import AsyncIterable, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from app.code.archive import MAX_BYTES
from app.errors import TooLarge, Unavailable

_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class Received:
    """A whole upload: its bytes in an open file, and what they are."""

    file: BinaryIO
    sha256: str
    size_bytes: int


@asynccontextmanager
async def received(pieces: AsyncIterable[bytes], folder: Path) -> AsyncIterator[Received]:
    """The upload, until the block ends. `folder`: on whose disk it waits.

    Raises `TooLarge` as soon as too much has come, `Unavailable` if it cannot be written.
    """
    try:
        file = await asyncio.to_thread(_open, folder)
    except OSError as error:
        raise _full(error) from error
    with file:
        digest, size = hashlib.sha256(), 0
        async for batch in _batches(pieces):
            size += len(batch)
            if size > MAX_BYTES:
                raise TooLarge(
                    f"the zip has more than {MAX_BYTES:,} bytes: leave data, checkpoints, "
                    "environments and .git out of it; nothing was stored"
                )
            try:
                await asyncio.to_thread(_keep, file, batch, digest)
            except OSError as error:
                raise _full(error) from error
        yield Received(file, digest.hexdigest(), size)


async def _batches(pieces: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    waiting = bytearray()
    async for piece in pieces:
        waiting += piece
        if len(waiting) >= _PIECE:
            yield bytes(waiting)
            waiting.clear()
    if waiting:
        yield bytes(waiting)


def _open(folder: Path) -> BinaryIO:
    folder.mkdir(parents=True, exist_ok=True)
    return tempfile.TemporaryFile(dir=folder)


def _keep(file: BinaryIO, batch: bytes, digest: "hashlib._Hash") -> None:
    file.write(batch)
    digest.update(batch)


def _full(error: OSError) -> Unavailable:
    reason = error.strerror or str(error)
    return Unavailable(f"the upload cannot be written here ({reason}); nothing was stored")
