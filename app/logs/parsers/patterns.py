"""People's own patterns: regular expressions that find metrics in the lines of a log.

A group's name is a metric's: `(?P<loss>…)`, and `(?P<eval__loss>…)` for `eval/loss`, since such
names hold no slash. Or the groups `key` and `value` find both, so that one pattern reads a whole
line of them. The group `step`, or a key that reads `step`, says at which step.

The engine is RE2 (syntax: https://github.com/google/re2/wiki/Syntax). Its time is linear in the
text; what a pattern may cost beyond that is bounded here.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any

from app.logs.parsers.numbers import find_number, find_step

MAX_PATTERNS = 50
MAX_PATTERN_CHARS = 1_000
# RE2's instructions; patterns for numbers take about 30, one Unicode class up to 1,500.
MAX_PATTERN_SIZE = 2_000
MAX_MATCHES = 1_000
"""Matches of one pattern in one line."""
MAX_KEY_CHARS = 200
# Bytes that RE2 may take for a pattern with all that it remembers, and for all patterns as one.
_MEMORY, _MEMORY_OF_ALL = 2**19, 2**23
_SHOWN_CHARS = 60
_OURS = "skydeck/"

_GROUP = re.compile(r"\(\?P?<(\w+)>")
_STEP, _KEY, _VALUE = "step", "key", "value"


class BadPattern(Exception):
    """A pattern that cannot be used: why, and what to write instead."""

    def __init__(self, message: str, fix: str) -> None:
        super().__init__(message)
        self.message, self.fix = message, fix


class TooSlow(Exception):
    """There was no more time for the patterns."""


@dataclass(frozen=True, slots=True)
class Match:
    """Metrics that one match found; `step` None: it named none."""

    step: int | None
    values: dict[str, float]


@dataclass(frozen=True, slots=True)
class MetricPattern:
    """A compiled pattern: the numbers of its groups, by what they find."""

    regex: Any
    step: int | None
    pair: tuple[int, int] | None
    metrics: tuple[tuple[str, int], ...]

    @property
    def finds_metrics(self) -> bool:
        return self.pair is not None or bool(self.metrics)

    def matches(self, line: bytes) -> Iterator[Match]:
        """What the pattern finds in a line, from left to right."""
        for found in islice(self.regex.finditer(line), MAX_MATCHES):
            yield self._read(found)

    def _read(self, found: Any) -> Match:
        step = None if self.step is None else find_step(_text(found[self.step]))
        values = {}
        for name, group in self.metrics:
            number = find_number(_text(found[group]))
            if number is not None:
                values[name] = number
        if self.pair is not None:
            key = _text(found[self.pair[0]]).strip(" \t\"'")
            value = _text(found[self.pair[1]])
            number = find_number(value)
            if key == _STEP:
                step = find_step(value)
            elif number is not None and _is_key(key):
                values[key] = number
        return Match(step, values)


def compile_pattern(text: str) -> MetricPattern:
    """Raises `BadPattern`."""
    if len(text) > MAX_PATTERN_CHARS:
        message = f"{_shown(text)} has more than {MAX_PATTERN_CHARS:,} characters"
        raise BadPattern(message, "take several patterns")
    # Loaded with the first pattern: most processes never see one.
    import re2

    try:
        regex = _compile(text, memory=_MEMORY)
        # As it will stand beside others: a quotation that is never closed would swallow those.
        _compile(_enclosed(text), memory=_MEMORY)
    except (re2.error, UnicodeEncodeError) as error:
        raise BadPattern(
            f"{_shown(text)} is no regular expression: {_reason(error)}",
            "use RE2's syntax, which has no look-ahead, look-behind or back-references",
        ) from None
    if regex.programsize > MAX_PATTERN_SIZE:
        message = f"{_shown(text)} is too large for a pattern that each line is compared with"
        raise BadPattern(message, "repeat less, as in + instead of {500}")
    return _with_groups(text, regex)


class MetricPatterns:
    """Patterns that are applied together to each line."""

    def __init__(self, patterns: Sequence[MetricPattern], any_of: Any) -> None:
        """`any_of` matches where one of them does."""
        self._patterns, self._any = patterns, any_of

    @property
    def find_steps(self) -> bool:
        """Whether one of them has a group for the step."""
        return any(pattern.step is not None for pattern in self._patterns)

    def find(self, line: bytes, *, is_late: Callable[[], bool]) -> list[Match]:
        """All matches, pattern by pattern. Raises `TooSlow` once `is_late`, and finds nothing."""
        if is_late():
            raise TooSlow
        if self._any.search(line) is None:
            return []
        found = []
        for pattern in self._patterns:
            for match in pattern.matches(line):
                found.append(match)
                if is_late():
                    raise TooSlow
        return found


@lru_cache(maxsize=16)
def compile_all(texts: tuple[str, ...]) -> tuple[MetricPatterns | None, tuple[BadPattern, ...]]:
    """The patterns that can be used, None if there are none, and what is wrong with the others."""
    patterns, used, bad = [], [], []
    for text in texts[:MAX_PATTERNS]:
        try:
            patterns.append(compile_pattern(text))
            used.append(text)
        except BadPattern as error:
            bad.append(error)
    if not patterns:
        return None, tuple(bad)
    whole = "|".join(map(_enclosed, used))
    return MetricPatterns(patterns, _compile(whole, memory=_MEMORY_OF_ALL)), tuple(bad)


def _compile(text: str, *, memory: int) -> Any:
    import re2

    options = re2.Options()
    options.max_mem, options.log_errors = memory, False
    return re2.compile(text, options)


def _enclosed(text: str) -> str:
    return f"(?:{text})"


def _with_groups(text: str, regex: Any) -> MetricPattern:
    groups = dict(regex.groupindex)
    twice = [name for name, count in Counter(_GROUP.findall(text)).items() if count > 1]
    if twice:
        raise BadPattern(f"{_shown(text)} has two groups named {twice[0]}", "take two patterns")
    if not groups:
        message = f"{_shown(text)} has no group with a name"
        raise BadPattern(message, "name what it finds, as in loss: (?P<loss>[0-9.]+)")
    step, key, value = (groups.pop(name, None) for name in (_STEP, _KEY, _VALUE))
    if (key is None) != (value is None):
        message = f"{_shown(text)} has only one of the groups key and value"
        raise BadPattern(message, r"take both, as in (?P<key>\w+)=(?P<value>\S+)")
    metrics = [(name.replace("__", "/"), group) for name, group in groups.items()]
    wrong = [name for name, _ in metrics if not _is_key(name)]
    if wrong:
        raise BadPattern(f"{wrong[0]} is no name for a metric of yours", "take another name")
    pair = None if key is None or value is None else (key, value)
    return MetricPattern(regex, step, pair, tuple(metrics))


def _is_key(key: str) -> bool:
    # What we compute ourselves must be told from what a log says.
    return 0 < len(key) <= MAX_KEY_CHARS and key.isprintable() and not key.startswith(_OURS)


def _text(found: bytes | None) -> str:
    return (found or b"").decode("utf-8", "replace")


def _shown(text: str) -> str:
    shown = text.encode("utf-8", "replace").decode()
    return repr(shown if len(shown) <= _SHOWN_CHARS else shown[: _SHOWN_CHARS - 1] + "…")


def _reason(error: Exception) -> str:
    said = error.args[0]
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else "it is no text"
