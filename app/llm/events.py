"""Server-sent events as bytes arrive: the data of each, and nothing else (WHATWG HTML §9.2.6).

Written here since what is kept of an unfinished event must have a bound, which libraries lack.
"""

from collections.abc import Iterator

LONGEST_BYTES = 1024**2


class EventTooLong(Exception):
    """One event is larger than `LONGEST_BYTES`."""


class EventReader:
    """Lines may end with CR, LF or both; fields other than `data` are skipped."""

    def __init__(self, longest: int = LONGEST_BYTES) -> None:
        self._longest = longest
        self._line = bytearray()
        self._data: list[bytes] = []
        self._size = 0
        self._after_return = False

    def feed(self, piece: bytes) -> Iterator[str]:
        """The data of each event that is complete now. Raises `EventTooLong`."""
        if not piece:
            return
        begins_late = self._after_return and piece.startswith(b"\n")
        self._after_return = piece.endswith(b"\r")
        piece = piece[1:] if begins_late else piece
        lines = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        for line in lines[:-1]:
            whole = bytes(self._line) + line
            self._line.clear()
            yield from self._take(whole)
        self._line += lines[-1]
        if self._size + len(self._line) > self._longest:
            raise EventTooLong

    def _take(self, line: bytes) -> Iterator[str]:
        if line:
            name, _, value = line.partition(b":")
            if name == b"data":
                self._data.append(value.removeprefix(b" "))
                self._size += len(line)
                if self._size > self._longest:
                    raise EventTooLong
        elif self._data:
            yield b"\n".join(self._data).decode("utf-8", "replace")
            self._data, self._size = [], 0
