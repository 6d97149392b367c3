"""A copy of a job's log on this machine, kept up to date from the last lines that Ray gives.

Ray has no way to ask for a part of a log by offset. Its last lines are asked for and joined to what
is there by their overlap; where that is lost, or there are several ways to join, the whole log is
read. The copy is byte for byte the file on the cluster, so it is read by offset like any other.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

FIRST_LINES, MOST_LINES = 1_000, 64_000
_KEY_BYTES = 1024
# Of what is fetched, at least this share must be known: a short piece may be there by chance.
_LEAST_SHARE = 16
_GROWTH = 4

Ask = Callable[[int], Awaitable[bytes]]
"""The last so many lines of the log, all with -1."""


@dataclass(slots=True)
class LogCopy:
    """`lines` are asked for the next time: more where the log grows fast, fewer where slowly."""

    file: Path
    lines: int = field(default=FIRST_LINES)

    @property
    def size(self) -> int:
        try:
            return self.file.stat().st_size
        except OSError:
            return 0

    async def update(self, ask: Ask) -> None:
        """Raises what `ask` raises; the copy then stays as it is. Raises `OSError`."""
        if self.size:
            fetched = await ask(self.lines)
            if await asyncio.to_thread(self._put_end, fetched):
                return
            self.lines = min(self.lines * _GROWTH, MOST_LINES)
        whole = await ask(-1)
        await asyncio.to_thread(self._put_whole, whole)

    def _put_end(self, fetched: bytes) -> bool:
        # Fewer lines than were asked for: all that there are. The last one may lack its end.
        if fetched.count(b"\n") + 1 < self.lines and self._put_whole(fetched):
            return True
        new = join(_end(self.file, len(fetched) + _KEY_BYTES), fetched)
        if new is None:
            return False
        _append(self.file, new)
        if len(new) * 2 * _GROWTH < len(fetched):
            self.lines = max(self.lines // 2, FIRST_LINES)
        return True

    def _put_whole(self, whole: bytes) -> bool:
        """A log only grows: one that is shorter, or another one, is not the same file any more."""
        end = _end(self.file, _KEY_BYTES)
        size = self.size
        if len(whole) < size or whole[size - len(end) : size] != end:
            return False
        _append(self.file, whole[size:])
        return True


def join(known: bytes, fetched: bytes) -> bytes | None:
    """What `fetched`, the newest bytes of a log, has beyond `known`, its last bytes so far.

    None: they do not meet in a kibibyte and a sixteenth of `fetched`, or could meet in several
    places. Right wherever they do share that much. Where they do not, a log that repeats as much
    of itself to the byte, just where `fetched` begins, would be taken for one that goes on.
    """
    key = known[-_KEY_BYTES:]
    least = max(_KEY_BYTES, len(fetched) // _LEAST_SHARE)
    places: list[int] = []
    start = fetched.find(key) if len(key) == _KEY_BYTES else -1
    while start >= 0 and len(places) < 2:
        length = start + _KEY_BYTES
        if known.endswith(fetched[:length]):
            places.append(length)
        start = fetched.find(key, start + 1)
    return fetched[places[0] :] if len(places) == 1 and places[0] >= least else None


def _end(file: Path, count: int) -> bytes:
    try:
        with file.open("rb") as opened:
            opened.seek(0, os.SEEK_END)
            opened.seek(max(0, opened.tell() - count))
            return opened.read()
    except OSError:
        return b""


def _append(file: Path, data: bytes) -> None:
    if data:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("ab") as opened:
            opened.write(data)
