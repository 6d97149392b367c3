"""Request bodies that are not plain JSON: compressed ones, with a limit on what comes out."""

import asyncio
import zlib

from fastapi import HTTPException, Request

from app.errors import Invalid, Problem, TooLarge

_GZIP = 16 + zlib.MAX_WBITS
_MOST_MEMBERS = 100


async def read_body(request: Request, *, max_bytes: int) -> bytes:
    """The body, unpacked if its Content-Encoding is gzip.

    Raises `TooLarge` above `max_bytes` without unpacking further, `Invalid` if it is damaged.
    """
    raw = await request.body()
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding == "gzip":
        # In a thread: what unpacks to many megabytes would hold up all other requests.
        return await asyncio.to_thread(gunzip, raw, max_bytes=max_bytes)
    if encoding != "identity":
        raise HTTPException(415, f"Content-Encoding {encoding[:40]!r}: send gzip or none")
    if len(raw) > max_bytes:
        raise _too_large(max_bytes)
    return raw


def gunzip(raw: bytes, *, max_bytes: int) -> bytes:
    """Unpacks all members of a gzip file, 100 at most. Raises as `read_body` does.

    What is left behind each member is copied, so that very many empty ones would take minutes.
    """
    parts: list[bytes] = []
    left = max_bytes
    while raw:
        if len(parts) == _MOST_MEMBERS:
            raise _damaged(f"the body has more than {_MOST_MEMBERS} gzip files: send one")
        member = zlib.decompressobj(_GZIP)
        try:
            part = member.decompress(raw, left + 1)
        except zlib.error:
            raise _damaged() from None
        if len(part) > left:
            raise _too_large(max_bytes)
        if not member.eof:
            raise _damaged()
        parts.append(part)
        left -= len(part)
        raw = member.unused_data
    return b"".join(parts)


def _too_large(max_bytes: int) -> TooLarge:
    return TooLarge(f"the body has more than {max_bytes:,} bytes; send it in parts")


def _damaged(message: str = "the body is damaged or no gzip file") -> Invalid:
    return Invalid(message, [Problem("body", "gzip", message)])
