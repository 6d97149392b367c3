"""Pushed points: reads a body in any of its shapes into columns by key. Pure.

Shapes: `{"points": [{key, step, value, time?}]}`, columns `{"step": [...], "<key>": [...]}` with
an optional `time`, or one JSON object a line (NDJSON): a point, or a row `{step, time?, <key>…}`.
Numbers are looked at column by column: one at a time only where a column holds anything else.
"""

import json
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from app.errors import Invalid, Problem
from app.metrics.columns import Columns, Floats, Steps, exact_values

MAX_POINTS = 100_000
MAX_KEYS = 5_000
MAX_KEY = 500
_LARGEST_STEP = 2**63
_LARGEST = sys.float_info.max
# Unix seconds; all of it can be shown as a date in any zone.
_END_OF_TIME = 2**35
_SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_STEP, _TIME, _POINTS, _KEY, _VALUE = "step", "time", "points", "key", "value"
_NO_VALUE = object()
_NUMBERS = frozenset({int, float})
_WHOLE = frozenset({int})


def read_columns(body: bytes, *, is_lines: bool, received_at: float) -> dict[str, Columns]:
    """All points of a body by key; `received_at` (Unix seconds) is the time of those with none.

    Whole numbers of 64 bits are kept exactly. Raises `Invalid`, naming the place of the first
    wrong value; nothing is taken then.
    """
    return _read(_lines(body) if is_lines else _whole(body), received_at)


def read_object(whole: dict[str, Any], *, received_at: float, place: str) -> dict[str, Columns]:
    """As `read_columns`, for an object that was read already and stood at `place` in its body."""
    try:
        return _read(_of_object(whole), received_at)
    except Invalid as error:
        problems = [replace(each, field=f"{place}.{each.field}") for each in error.problems]
        raise Invalid(f"{place}.{error}", problems) from None


def read_points(points: list[Any], *, received_at: float) -> dict[str, Columns]:
    """As `read_columns`, for points that were read already."""
    return _read(_of_points(points), received_at)


def _read(table: "_Table", received_at: float) -> dict[str, Columns]:
    if sum(len(column.values) for column in table.columns.values()) > MAX_POINTS:
        raise _too_many(f"{MAX_POINTS:,} points")
    if len(table.columns) > MAX_KEYS:
        raise _too_many(f"{MAX_KEYS:,} keys")
    steps = _steps(table.steps, table.place)
    times = _times(table.times, table.place, received_at, len(steps))
    found: dict[str, Columns] = {}
    for key, column in table.columns.items():
        points = _points(column, steps, times, table.place, check_key(key))
        if len(points):
            found[key] = points
    return found


def check_key(key: Any, place: str = _KEY) -> str:
    """The key of a metric: any text of 1 to 500 characters that a database keeps."""
    is_text = isinstance(key, str) and 0 < len(key) <= MAX_KEY
    if not is_text or "\0" in key or any("\ud800" <= sign <= "\udfff" for sign in key):
        raise _wrong(place, "key", f"a key is text of 1 to {MAX_KEY} characters")
    return str(key)


@dataclass(slots=True)
class _Column:
    """Values of one key. `rows` says where the step and time of each are; empty: one a row."""

    values: list[Any] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Table:
    """`place(row, name)` says where a value stood in the body."""

    steps: list[Any]
    times: list[Any]
    columns: dict[str, _Column]
    place: Callable[[int, str], str]


def _lines(body: bytes) -> _Table:
    numbers: list[int] = []
    table = _Table([], [], {}, lambda row, name: f"line {numbers[row] if numbers else 1}.{name}")
    for number, line in enumerate(body.splitlines(), 1):
        if line.strip():
            numbers.append(number)
            _add_row(table, _load(line, f"line {number}"))
    return table


def _whole(body: bytes) -> _Table:
    return _of_object(_load(body, "body"))


def load_object(body: bytes) -> dict[str, Any]:
    """A body that is one JSON object. Raises `Invalid`."""
    return _load(body, "body")


def _of_object(whole: dict[str, Any]) -> _Table:
    points = whole.get(_POINTS)
    return _of_points(points) if isinstance(points, list) else _columns(whole)


def _of_points(points: list[Any]) -> _Table:
    table = _Table([], [], {}, lambda row, name: f"points.{row}.{_part(name)}")
    for index, item in enumerate(points):
        if not isinstance(item, dict):
            raise _wrong(f"points.{index}", "type", "give an object {key, step, value, time?}")
        _add_point(table, item)
    return table


def _part(name: str) -> str:
    """Where a value of the key `name` stands in a point."""
    return name if name in (_STEP, _TIME, _KEY) else _VALUE


def _columns(whole: dict[str, Any]) -> _Table:
    steps = whole.pop(_STEP, None)
    if not isinstance(steps, list):
        message = 'give {"points": [...]}, or columns with a list named "step"'
        raise _wrong("body", "shape", message)
    times = _column_of(whole.pop(_TIME), _TIME, len(steps)) if _TIME in whole else []
    columns = {
        name: _Column(_column_of(values, name, len(steps))) for name, values in whole.items()
    }
    return _Table(steps, times, columns, lambda row, name: f"{name}.{row}")


def _column_of(values: Any, name: str, length: int) -> list[Any]:
    if not isinstance(values, list) or len(values) != length:
        raise _wrong(name[:MAX_KEY], "length", f"give a list of {length} values, like step")
    return values


def _load(text: bytes, place: str) -> dict[str, Any]:
    try:
        value = orjson.loads(text)
    except ValueError:
        value = _load_leniently(text, place)
    if not isinstance(value, dict):
        raise _wrong(place, "json", "give an object")
    return value


def _load_leniently(text: bytes, place: str) -> Any:
    """As Python itself writes it: with bare NaN and Infinity."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _wrong(place, "json", f"this is no JSON: {error}") from None


def _add_row(table: _Table, row: dict[str, Any]) -> None:
    if _KEY in row and _VALUE in row:
        _add_point(table, row)
        return
    place = len(table.steps)
    table.steps.append(row.pop(_STEP, None))
    table.times.append(row.pop(_TIME, None))
    for key, value in row.items():
        _add(table, key, place, value)


def _add_point(table: _Table, item: dict[str, Any]) -> None:
    place, key = len(table.steps), item.get(_KEY)
    table.steps.append(item.get(_STEP))
    table.times.append(item.get(_TIME))
    value = item.get(_VALUE)
    # Rows and columns may have gaps; a point has a value.
    value = _NO_VALUE if value is None else value
    _add(table, check_key(key, table.place(place, _KEY)), place, value)


def _add(table: _Table, key: str, place: int, value: Any) -> None:
    column = table.columns.get(key)
    if column is None:
        # At once, not when all of a body that names a new key a line stands in memory.
        if len(table.columns) == MAX_KEYS:
            raise _too_many(f"{MAX_KEYS:,} keys")
        column = table.columns[key] = _Column()
    column.values.append(value)
    column.rows.append(place)


def _points(
    column: _Column, steps: Steps, times: Floats, place: Callable[[int, str], str], key: str
) -> Columns:
    values, excess, kept = _values(column, place, key)
    rows: Any = np.array(column.rows) if column.rows else slice(None)
    points = Columns(steps[rows], values, times[rows], excess)
    return points if kept is None else points.take(kept)


def _values(
    column: _Column, place: Callable[[int, str], str], key: str
) -> tuple[Floats, Steps | None, npt.NDArray[np.bool_] | None]:
    """Values, their excess, and which of them are there; None: all."""
    values, kept = column.values, None
    if not set(map(type, values)) <= _NUMBERS:
        kept = np.array([value is not None for value in values], dtype=np.bool_)
        values = [
            0 if value is None else _value(value, place(column.rows[i] if column.rows else i, key))
            for i, value in enumerate(values)
        ]
    try:
        return *exact_values(values), kept
    except OverflowError:
        large = next(i for i, value in enumerate(values) if abs(value) > _LARGEST)
        where = place(column.rows[large] if column.rows else large, key)
        raise _wrong(where, "value", "this number is too large") from None


def _steps(steps: Sequence[Any], place: Callable[[int, str], str]) -> Steps:
    if not set(map(type, steps)) <= _WHOLE:
        steps = [_step(step, place(row, _STEP)) for row, step in enumerate(steps)]
    try:
        return np.array(steps, dtype=np.int64)
    except OverflowError:
        large = next(row for row, step in enumerate(steps) if not _fits(step))
        raise _wrong_step(place(large, _STEP)) from None


def _step(step: Any, place: str) -> int:
    is_number = isinstance(step, int | float) and not isinstance(step, bool)
    if not is_number or not math.isfinite(step) or step != int(step) or not _fits(int(step)):
        raise _wrong_step(place)
    return int(step)


def _fits(step: int) -> bool:
    return -_LARGEST_STEP <= step < _LARGEST_STEP


def _value(value: Any, place: str) -> float:
    if isinstance(value, str) and value in _SPECIAL:
        return _SPECIAL[value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong(place, "value", 'a value is a number, "NaN", "Infinity" or "-Infinity"')
    return value


def _times(
    times: Sequence[Any], place: Callable[[int, str], str], received_at: float, count: int
) -> Floats:
    given = set(map(type, times))
    if given <= {type(None)}:
        return np.full(count, received_at)
    if given <= _NUMBERS:
        seconds = np.array([float(_cut(time)) for time in times])
        if np.all((seconds >= 0) & (seconds < _END_OF_TIME)):
            return seconds
    return np.array([_time(time, place(row, _TIME), received_at) for row, time in enumerate(times)])


def _time(time: Any, place: str, received_at: float) -> float:
    if time is None:
        return received_at
    seconds = _seconds(time)
    if seconds is None or not 0 <= seconds < _END_OF_TIME:
        message = "a time is RFC 3339 with its zone, or Unix seconds, from 1970 to 3058"
        raise _wrong(place, "time", message)
    return float(seconds)


def _cut(time: float) -> float:
    """A time that a float64 can hold, wrong if it was."""
    return min(time, _END_OF_TIME)


def _seconds(time: Any) -> int | float | None:
    if isinstance(time, int | float):
        return None if isinstance(time, bool) else time
    try:
        at = datetime.fromisoformat(time)
        return at.timestamp() if at.tzinfo is not None else None
    except (ValueError, TypeError, OverflowError):
        return None


def _wrong_step(place: str) -> Invalid:
    return _wrong(place, "step", "a step is a whole number of 64 bits")


def _too_many(limit: str) -> Invalid:
    return _wrong("body", "too_many", f"at most {limit} a call; send it in parts")


def _wrong(field: str, rule: str, message: str) -> Invalid:
    # Whatever names the field may be as strange as what was sent.
    name = field.encode(errors="replace").decode()
    return Invalid(f"{name}: {message}; no point was stored", [Problem(name, rule, message)])
