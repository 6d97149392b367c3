"""Cuts a growing log into segments, each with the source that wrote it.

A segment ends at LF or CR. Ray puts a prefix such as `(visgym_entrypoint pid=7, ip=10.0.0.2) ` in
front of each physical line of a task; a progress bar's CR then sits between prefix and text. The
Jobs API turns that CR into LF, so the text after it arrives as a line without a prefix.
"""

import base64
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

# The longest line that matters (a metric, an event with a path) is far shorter. What goes beyond
# is ignored up to the line's end, so that an endless line costs no memory.
MAX_SEGMENT_BYTES = 8192

_PREFIX = re.compile(
    rb"\x1b\[\d+m\((?P<coloured>[^()\x1b]{1,200})\)\x1b\[0m "
    rb"|\((?P<plain>[^()\x1b]{0,120}\bpid=\d+[^()\x1b]{0,80})\) "
)


class Segment(NamedTuple):
    """`source` is Ray's prefix without brackets, or None where the line bears none."""

    source: str | None
    body: bytes


@dataclass(slots=True)
class SegmentReader:
    """Feed bytes cut anywhere; the segments that come out do not depend on the cuts."""

    pending: bytes = b""
    at_line_start: bool = True
    line_source: str | None = None
    last_source: str = ""

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        return cls(**{**state, "pending": base64.b64decode(state["pending"])})

    def state(self) -> dict[str, Any]:
        """JSON-able and bounded. Base64, since a log may hold NUL, which JSON columns refuse."""
        return {
            "pending": base64.b64encode(self.pending).decode("ascii"),
            "at_line_start": self.at_line_start,
            "line_source": self.line_source,
            "last_source": self.last_source,
        }

    def feed(self, data: bytes) -> Iterator[Segment]:
        """Yield each segment that `data` completes; exhaust the iterator before the next call."""
        *lines, rest = data.split(b"\n")
        for line in lines:
            yield from self._line(line)
            yield self._end_segment()
            self.at_line_start = True
        yield from self._line(rest)

    def finish(self) -> Segment:
        """The unterminated rest, when the log has come to its end."""
        return self._end_segment()

    def _line(self, line: bytes) -> Iterator[Segment]:
        if b"\r" in line:
            *parts, line = line.split(b"\r")
            for part in parts:
                self._append(part)
                yield self._end_segment()
        self._append(line)

    def _append(self, part: bytes) -> None:
        self.pending += part[: MAX_SEGMENT_BYTES - len(self.pending)]

    def _end_segment(self) -> Segment:
        body, self.pending = self.pending, b""
        if self.at_line_start:
            self.at_line_start = False
            self.line_source = None
            if match := _PREFIX.match(body):
                source = (match["coloured"] or match["plain"]).decode("utf-8", "replace")
                self.line_source = self.last_source = source.replace("\0", "")
                body = body[match.end() :]
        return Segment(self.line_source, body)
