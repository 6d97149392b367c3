"""Orders of runs: reads the `sort` of a list, and the place in it that a cursor names."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from app.errors import Invalid, Problem
from app.models import RunStatus
from app.paging import decode_cursor

COLUMNS = ("created_at", "started_at", "ended_at", "name", "status", "owner", "step")
STATISTICS = ("last", "best", "min", "max", "count", "last_step", "best_step")
_NUMBERS = ("step",)
_LARGEST_TIE = 2**63


@dataclass(frozen=True, slots=True)
class Sort:
    """An order of runs. `kind` is `column`, `metric` or `config`; those without come last."""

    kind: str
    name: str
    statistic: str = ""
    is_descending: bool = True

    def __str__(self) -> str:
        sign = "-" if self.is_descending else ""
        parts = [] if self.kind == "column" else [self.kind]
        statistic = [self.statistic] if self.statistic else []
        return sign + ":".join([*parts, self.name, *statistic])


def parse_sort(text: str) -> Sort:
    """Reads the `sort` parameter of a list of runs. Raises `Invalid`."""
    descending = text.startswith("-")
    name = text.removeprefix("-")
    if name in COLUMNS:
        return Sort("column", name, is_descending=descending)
    kind, _, rest = name.partition(":")
    key, _, statistic = rest.rpartition(":")
    if kind == "metric" and key and statistic in STATISTICS:
        return Sort("metric", key, statistic, is_descending=descending)
    if kind == "config" and rest:
        return Sort("config", rest, is_descending=descending)
    message = (
        f"sort by {', '.join(COLUMNS)}, metric:<key>:<{'|'.join(STATISTICS)}> "
        "or config:<key>; a leading - reverses"
    )
    raise Invalid(message, [Problem("sort", "choices", message)])


def cursor_of(walk: int, value: Any, tie: Any) -> list[Any]:
    """What a cursor holds of the last row shown."""
    shown = value.isoformat() if isinstance(value, datetime) else value
    return [walk, shown, tie if isinstance(tie, int) else str(tie)]


def place_of(cursor: str, sort: Sort) -> tuple[int, Any, Any]:
    """(walk, value, tie) of the last row shown. Raises `Invalid` for a cursor of another order."""
    walk, value, tie = decode_cursor(cursor, 3)
    try:
        if not isinstance(walk, int) or isinstance(walk, bool) or not 0 <= walk < 3:
            raise ValueError("no walk")
        return walk, _value(value, sort, walk), _tie(tie, sort, walk)
    except (ValueError, TypeError, AttributeError, OverflowError):
        message = "this cursor belongs to another order: start again without one"
        raise Invalid(message, [Problem("cursor", "cursor", message)]) from None


def _value(value: Any, sort: Sort, walk: int) -> Any:
    """Raises `ValueError` or `TypeError` for a value that such a sort does not make."""
    if value is None:
        return None
    if sort.kind == "config" and walk == 1:
        return _text(value)
    if sort.kind != "column" or sort.name in _NUMBERS:
        return float(value)
    if sort.name == "status":
        return RunStatus(value)
    if not sort.name.endswith("_at"):
        return _text(value)
    at = datetime.fromisoformat(value)
    if at.tzinfo is None:
        raise ValueError("a time without a zone")
    return at.astimezone(UTC)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return value


def _tie(tie: Any, sort: Sort, walk: int) -> Any:
    """Runs are told apart by their id, series by their number."""
    if sort.kind != "metric" or walk > 0:
        return UUID(tie)
    if isinstance(tie, bool) or not 0 <= tie < _LARGEST_TIE:
        raise ValueError("no number of a row")
    return int(tie)
