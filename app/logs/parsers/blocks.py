"""Collects one `Step N:` block of SkyRL's console logger.

The logger prints `pprint.pformat` of a flat dict, floats as strings of four decimals, one key a
line (SkyRL `Tracking(backend="console")`). Lines of other writers can fall in between.
"""

import ast
import re
from dataclasses import asdict, dataclass, field
from datetime import datetime, tzinfo
from typing import Any, Self

from app.logs.parsers.records import Record, parse_time, text_of

Number = float | int

# Blocks of real runs have about 100 lines of 60 characters. A block that outgrows these bounds,
# or never ends, is dropped.
MAX_BLOCK_CHARS = 262_144
MAX_FOREIGN_SEGMENTS = 5_000
# What the column of keys holds.
MAX_KEY_CHARS = 500

_HEADER = re.compile(r"Step (\d{1,18}): ?")
_DICT_LINE = re.compile(rb"(?:\{ *(?=['\"}])| +['\"]).*[,}](?:\x1b\[[0-9;]*m)*\s*", re.DOTALL)
_ENTRY = re.compile(r"""[{ ] *(['"])(?P<key>[^'"]+)\1: (?P<value>.+?)[,}]""")
_NUMPY_SCALAR = re.compile(r"np\.\w+\((.*)\)")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*(?:e[+-]?\d+)?|nan|inf)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class MetricBlock:
    """Metrics logged at one step, in one call. A step may have several blocks.

    `is_counted`: the log named no step, so that it is how often the key was found.
    """

    step: int
    time: datetime | None
    values: dict[str, Number]
    is_counted: bool = False


@dataclass(slots=True)
class OpenBlock:
    """A block whose header was seen and whose closing brace was not."""

    step: int
    time: str
    # Who may go on with it: the header's source. A header without a prefix may be the driver's
    # own, or have lost its prefix to a progress bar; its first line decides.
    sources: list[str]
    lines: list[str] = field(default_factory=list)
    chars: int = 0
    foreign: int = 0

    @classmethod
    def opened_by(cls, record: Record, *, source: str | None, last_source: str) -> Self | None:
        """The block that `record` opens, if it is the logger's header."""
        if record.function != "log" or record.module != "skyrl.train.utils.tracking":
            return None
        match = _HEADER.fullmatch(record.message)
        if match is None:
            return None
        sources = [last_source, ""] if source is None else [source]
        return cls(step=int(match[1]), time=record.time, sources=sources)

    def state(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def is_complete(self) -> bool:
        return bool(self.lines) and self.lines[-1].endswith("}")

    @property
    def is_lost(self) -> bool:
        return self.chars > MAX_BLOCK_CHARS or self.foreign > MAX_FOREIGN_SEGMENTS

    def take(self, body: bytes, source: str | None) -> bool:
        """Add a segment if it belongs to the block; tell whether it did."""
        belongs = (
            body.startswith(b" " if self.lines else b"{")
            and (source or "") in self.sources
            and _DICT_LINE.fullmatch(body) is not None
        )
        if belongs:
            self.sources = [source or ""]
            self.lines.append(text_of(body).rstrip())
            self.chars += len(self.lines[-1])
        else:
            self.foreign += 1
        return belongs

    def close(self, zone: tzinfo) -> MetricBlock:
        return MetricBlock(
            step=self.step, time=parse_time(self.time, zone), values=_values(self.lines)
        )


def _values(lines: list[str]) -> dict[str, Number]:
    numbers = ((key, _number(value)) for key, value in _entries(lines) if _is_storable(key))
    return {key: number for key, number in numbers if number is not None}


def _is_storable(key: str) -> bool:
    # As for pushed keys. An escape in a literal may stand for NUL, which databases refuse.
    return 0 < len(key) <= MAX_KEY_CHARS and key.isprintable()


def _entries(lines: list[str]) -> list[tuple[str, object]]:
    try:
        literal = ast.literal_eval("\n".join(lines))
        return [(key, value) for key, value in literal.items() if isinstance(key, str)]
    except (ValueError, SyntaxError, TypeError, AttributeError, MemoryError, RecursionError):
        # A value that is no literal, such as `np.float32(0.5)`, or a damaged line: keep the rest.
        matches = (match for line in lines for match in _ENTRY.finditer(line))
        return [(match["key"], _bare(match["value"])) for match in matches]


def _bare(value: str) -> str:
    scalar = _NUMPY_SCALAR.fullmatch(value)
    return scalar[1] if scalar else value.strip("'\"")


def _number(value: object) -> Number | None:
    """Floats from their four decimals, ints as they are, booleans as 0 or 1, else None."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int):
        return value if value.bit_length() < 1024 else None
    if isinstance(value, float):
        return value
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        return float(value)
    return None
