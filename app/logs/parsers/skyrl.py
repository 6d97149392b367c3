"""Incremental parser of a job's console log: SkyRL's own format, and people's own patterns.

Reads what `ray job logs` gives and the driver's own file, with Ray's prefixes or without. SkyRL's
metrics count only inside a block that the tracking logger opened, from the same source: a model's
answer that looks like a metric is never one. Patterns, where a run has some, see all other lines.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from typing import Any, Self

from app.logs.parsers.blocks import MetricBlock, OpenBlock
from app.logs.parsers.events import LogEvent, event_of
from app.logs.parsers.pattern_reader import PatternReader
from app.logs.parsers.records import find_record
from app.logs.parsers.segments import Segment, SegmentReader


@dataclass(frozen=True, slots=True)
class ParseOutcome:
    """What one piece of log added, each list in the order of the log.

    `troubles`: sentences about what the patterns do not read.
    """

    blocks: list[MetricBlock] = field(default_factory=list)
    events: list[LogEvent] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)


class SkyRLConsoleParser:
    """Bytes in, metric blocks and events out; where the pieces are cut never matters.

    Store `state()` in the transaction that stores the log's offset and the outcome, and go on from
    it with `from_state` after a crash. The state is a JSON-able dict of bounded size.
    """

    def __init__(self, *, zone: tzinfo = UTC, patterns: Sequence[str] = ()) -> None:
        """`zone`: where the log's clock stands, since its times name no zone."""
        self._zone = zone
        self._patterns = PatternReader(patterns) if patterns else None
        self._reader = SegmentReader()
        self._block: OpenBlock | None = None
        self._is_coloured = False

    @classmethod
    def from_state(
        cls,
        state: dict[str, Any] | None,
        *,
        zone: tzinfo = UTC,
        patterns: Sequence[str] = (),
    ) -> Self:
        """A parser that goes on where `state` was taken, with its patterns; None: a new log."""
        parser = cls(zone=zone)
        if patterns:
            parser._patterns = PatternReader(patterns, (state or {}).get("patterns"))
        if state is not None:
            parser._reader = SegmentReader.from_state(state["reader"])
            parser._block = OpenBlock(**state["block"]) if state["block"] else None
            parser._is_coloured = state["is_coloured"]
        return parser

    def state(self) -> dict[str, Any]:
        return {
            "reader": self._reader.state(),
            "block": self._block.state() if self._block else None,
            "is_coloured": self._is_coloured,
            "patterns": self._patterns.state() if self._patterns else None,
        }

    def feed(self, data: bytes) -> ParseOutcome:
        """What `data`, the next bytes of the log, completes."""
        return self._read(self._reader.feed(data))

    def finish(self) -> ParseOutcome:
        """What the last line says, when the log ended without a line feed."""
        return self._read([self._reader.finish()])

    def _read(self, segments: Iterable[Segment]) -> ParseOutcome:
        outcome = ParseOutcome()
        if self._patterns is not None:
            self._patterns.begin_piece()
        for segment in segments:
            self._segment(segment, outcome)
        if self._patterns is not None:
            outcome.troubles.extend(self._patterns.take_news())
        return outcome

    def _segment(self, segment: Segment, outcome: ParseOutcome) -> None:
        source, body = segment
        if self._block is not None and self._continue_block(self._block, segment, outcome):
            return
        if self._patterns is not None and body:
            outcome.blocks.extend(self._patterns.read(body))
        record = find_record(body, coloured_only=self._is_coloured)
        if record is None:
            return
        if record.is_coloured and record.module.startswith("skyrl."):
            self._is_coloured = True
        last_source = self._reader.last_source
        block = OpenBlock.opened_by(record, source=source, last_source=last_source)
        if block is not None:
            self._block = block
        elif event := event_of(record, zone=self._zone):
            outcome.events.append(event)

    def _continue_block(self, block: OpenBlock, segment: Segment, outcome: ParseOutcome) -> bool:
        taken = block.take(segment.body, segment.source)
        if taken and block.is_complete:
            outcome.blocks.append(block.close(self._zone))
            self._block = None
        elif block.is_lost:
            self._block = None
        return taken
