"""The body of an answer, unpacked here in small pieces and never beyond its limits.

httpx would unpack each piece at once, and 64 kB may hold gigabytes.
"""

import zlib
from collections.abc import AsyncIterator, Iterator

import httpx

from app.outgoing.deadline import Deadline
from app.outgoing.errors import AnswerTooLarge, AnswerUnreadable

ENCODINGS = frozenset(("", "identity", "gzip", "x-gzip"))
_GZIP = zlib.MAX_WBITS | 16
_PIECE_BYTES = 64 * 1024


class LimitedStream(httpx.AsyncByteStream):
    """At most `limit` bytes, as sent and as unpacked. Raises `AnswerTooLarge` beyond that,
    `AnswerTooSlow` after the deadline, `AnswerUnreadable` for damaged gzip."""

    def __init__(
        self,
        source: httpx.AsyncByteStream,
        *,
        host: str,
        limit: int,
        is_gzip: bool,
        deadline: Deadline,
    ) -> None:
        self._source = source
        self._host = host
        self._limit = limit
        self._is_gzip = is_gzip
        self._deadline = deadline

    async def __aiter__(self) -> AsyncIterator[bytes]:
        unpack = _Gunzip(self._host) if self._is_gzip else None
        sent = given = 0
        async for chunk in self._in_time():
            sent = self._checked(sent + len(chunk))
            for piece in unpack.pieces(chunk) if unpack else (chunk,):
                given = self._checked(given + len(piece))
                yield piece
        if unpack and sent:
            unpack.finish()

    async def aclose(self) -> None:
        await self._source.aclose()

    async def _in_time(self) -> AsyncIterator[bytes]:
        chunks = aiter(self._source)
        while True:
            async with self._deadline.enforced():
                chunk = await anext(chunks, None)
            if chunk is None:
                return
            yield chunk

    def _checked(self, count: int) -> int:
        if count > self._limit:
            raise AnswerTooLarge(self._host, "body", self._limit)
        return count


class _Gunzip:
    """One gzip member (RFC 1952); what follows it is dropped."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._inner = zlib.decompressobj(_GZIP)

    def pieces(self, chunk: bytes) -> Iterator[bytes]:
        while chunk and not self._inner.eof:
            try:
                piece = self._inner.decompress(chunk, _PIECE_BYTES)
            except zlib.error as error:
                raise AnswerUnreadable(self._host, "its gzip is damaged") from error
            chunk = self._inner.unconsumed_tail
            if piece:
                yield piece

    def finish(self) -> None:
        """Raises `AnswerUnreadable` if the end is missing."""
        if not self._inner.eof:
            raise AnswerUnreadable(self._host, "its gzip ends too early")
