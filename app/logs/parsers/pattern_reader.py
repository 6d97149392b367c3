"""Reads a log's lines with the run's own metric patterns, and remembers where it stands."""

import re
from collections.abc import Callable, Iterator, Sequence
from time import thread_time
from typing import Any

from app.logs.parsers.blocks import MetricBlock
from app.logs.parsers.patterns import Match, TooSlow, compile_all

MAX_KEYS = 1_000
"""Names that patterns may find in one log: a `key` group could find one in every line."""
MAX_SECONDS = 10.0
"""CPU time for one piece of a log. A piece of 1 MiB takes a hundredth of that."""

_TOO_SLOW = (
    f"The metric patterns were turned off for this attempt: they took more than {MAX_SECONDS:.0f} "
    "seconds for one piece of its log. Points found before that, and the log, are stored. Make "
    "them simpler in the next config."
)
_TOO_MANY = (
    f"The metric patterns found more than {MAX_KEYS:,} names; those that came later are left out. "
    "Let the group named key match less in the next config."
)
_ANSI = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")


class PatternReader:
    """Lines in, blocks out. `state()` is JSON-able and bounded, as that of the parser it is in.

    A match that names no step takes that of its line, else the last one seen. Where the log has
    told no step yet: 0 if a pattern has a group for it, else how often the key was found so far.
    """

    def __init__(
        self,
        texts: Sequence[str],
        state: dict[str, Any] | None = None,
        *,
        cpu_time: Callable[[], float] = thread_time,
    ) -> None:
        """`texts`: the patterns, of which those that cannot be used are left out, and told."""
        self._patterns, bad = compile_all(tuple(texts))
        kept = state or {}
        self._step: int | None = kept.get("step")
        self._counts: dict[str, int] = dict(kept.get("counts", {}))
        self._is_off: bool = kept.get("is_off", False)
        self._told: list[str] = list(kept.get("told", []))
        self._news: list[str] = []
        self._cpu_time = cpu_time
        self._deadline = 0.0
        for error in bad:
            self._tell(f"A metric pattern is not used: {error.message}: {error.fix}.")

    def state(self) -> dict[str, Any]:
        return {
            "step": self._step,
            "counts": dict(self._counts),
            "is_off": self._is_off,
            "told": list(self._told),
        }

    def begin_piece(self) -> None:
        """The time of a piece of the log begins."""
        self._deadline = self._cpu_time() + MAX_SECONDS

    def take_news(self) -> list[str]:
        """Sentences about what is not read, each once in a log."""
        news, self._news = self._news, []
        return news

    def read(self, body: bytes) -> Iterator[MetricBlock]:
        """The metrics of one line, by step."""
        if self._patterns is None or self._is_off:
            return
        line = _ANSI.sub(b"", body) if b"\x1b" in body else body
        try:
            matches = self._patterns.find(line, is_late=self._is_late)
        except TooSlow:
            self._is_off = True
            self._tell(_TOO_SLOW)
            return
        if matches:
            yield from self._blocks(matches)

    def _is_late(self) -> bool:
        return self._cpu_time() > self._deadline

    def _blocks(self, matches: list[Match]) -> Iterator[MetricBlock]:
        steps = [match.step for match in matches if match.step is not None]
        if steps:
            self._step = steps[-1]
        elif self._step is None and self._patterns and self._patterns.find_steps:
            self._step = 0
        blocks: dict[int, dict[str, float | int]] = {}
        is_counted = self._step is None
        for match in matches:
            step = self._step if match.step is None else match.step
            for key, value in match.values.items():
                if self._count(key):
                    at = self._counts[key] if step is None else step
                    blocks.setdefault(at, {})[key] = value
        for at, values in blocks.items():
            yield MetricBlock(step=at, time=None, values=values, is_counted=is_counted)

    def _count(self, key: str) -> bool:
        """Counts one more of a key; False: there are too many keys."""
        if key not in self._counts and len(self._counts) >= MAX_KEYS:
            self._tell(_TOO_MANY)
            return False
        self._counts[key] = self._counts.get(key, 0) + 1
        return True

    def _tell(self, message: str) -> None:
        if message not in self._told:
            self._told.append(message)
            self._news.append(message)
