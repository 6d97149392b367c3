"""Orders of runs: reads the `sort` of a list, and the place in it that a cursor names."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from app.errors import Invalid, Problem
from app.models import Run, RunStatus
from app.paging import decode_cursor
from app.runs.repository import Sort

_SORT_COLUMNS = ("created_at", "started_at", "ended_at", "name", "status")
_STATISTICS = ("last", "best", "min", "max")


def parse_sort(text: str) -> Sort:
    """Reads the `sort` parameter of a list of runs. Raises `Invalid`."""
    descending = text.startswith("-")
    name = text.removeprefix("-")
    if name in _SORT_COLUMNS:
        return Sort("column", name, is_descending=descending)
    kind, _, rest = name.partition(":")
    key, _, statistic = rest.rpartition(":")
    if kind == "metric" and key and statistic in _STATISTICS:
        return Sort("metric", key, statistic, is_descending=descending)
    if kind == "config" and rest:
        return Sort("config", rest, is_descending=descending)
    message = (
        f"sort by {', '.join(_SORT_COLUMNS)}, metric:<key>:<{'|'.join(_STATISTICS)}> "
        "or config:<key>; a leading - reverses"
    )
    raise Invalid(message, [Problem("sort", "choices", message)])


def cursor_of(value: Any, run: Run) -> list[Any]:
    """What a cursor holds of the last run shown and its value of the sort."""
    return [value.isoformat() if isinstance(value, datetime) else value, str(run.id)]


def place_of(cursor: str, sort: Sort) -> list[Any]:
    """[value, id] of the last run shown. Raises `Invalid` for a cursor of another order."""
    value, run_id = decode_cursor(cursor, 2)
    try:
        return [_sort_value(value, sort), UUID(run_id)]
    except (ValueError, TypeError, AttributeError, OverflowError):
        message = "this cursor belongs to another order: start again without one"
        raise Invalid(message, [Problem("cursor", "cursor", message)]) from None


def _sort_value(value: Any, sort: Sort) -> Any:
    """Raises `ValueError` or `TypeError` for a value that such a sort does not make."""
    if value is None:
        return None
    if sort.kind != "column":
        return float(value)
    if sort.name == "status":
        return RunStatus(value)
    if not sort.name.endswith("_at"):
        return str(value)
    at = datetime.fromisoformat(value)
    if at.tzinfo is None:
        raise ValueError("a time without a zone")
    return at.astimezone(UTC)
