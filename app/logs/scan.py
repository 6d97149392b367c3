"""Goes through the bytes of a log for the lines to show. Pure, and slow for much: use a thread."""

from collections.abc import Sequence

from app.logs import ansi, chunks

MAX_LINE_BYTES = 20_000
"""Of a longer line the end is kept."""


class Scan:
    """Lines from number `start` on that contain `text` (case ignored, colours left out).

    Fed with chunks in order, the first of which holds line `start` or an earlier one. It is full
    after `limit` lines, or once it went through `max_bytes`; it always gets past a line, so that
    who goes on from `next_line` comes to the end.
    """

    def __init__(self, start: int, *, limit: int, text: str, max_bytes: int | None) -> None:
        self.found: list[chunks.LogLine] = []
        self._start, self._limit, self._max_bytes = start, limit, max_bytes
        self._wanted = text.casefold()
        self._number, self._rest, self._byte_count = 0, b"", 0

    @property
    def is_full(self) -> bool:
        spent = self._max_bytes is not None and self._byte_count >= self._max_bytes
        return spent or len(self.found) >= self._limit

    @property
    def next_line(self) -> int:
        """The first line that was not looked at."""
        return max(self._number, self._start)

    def feed(self, first_line: int, payloads: Sequence[bytes]) -> None:
        """Takes the next chunks, the first of which begins in line `first_line`."""
        self._number = self._number or first_line
        for payload in payloads:
            if self.is_full:
                break
            self._take(chunks.unpack(payload))
        if self.is_full and self._number <= self._start:
            self.finish()

    def finish(self) -> None:
        """Takes what follows the last line feed, or so much of an endless line as was seen."""
        if self._rest and not len(self.found) >= self._limit:
            self._look_at(self._rest)
        self._rest = b""

    def _take(self, data: bytes) -> None:
        self._byte_count += len(data)
        *whole, tail = (self._rest + data).split(b"\n")
        self._rest = b""
        for raw in whole:
            self._look_at(raw)
            if len(self.found) >= self._limit:
                return
        self._rest = tail[-MAX_LINE_BYTES:]

    def _look_at(self, raw: bytes) -> None:
        if self._number >= self._start:
            text = chunks.display_text(raw[-MAX_LINE_BYTES:])
            if not self._wanted or self._wanted in ansi.strip(text).casefold():
                self.found.append(chunks.LogLine(self._number, text))
        self._number += 1
