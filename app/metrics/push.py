"""Pushed points: reads a body in any of its shapes into points. Pure.

Shapes: `{"points": [{key, step, value, time?}]}`, columns `{"step": [...], "<key>": [...]}` with
an optional `time`, or one JSON object a line (NDJSON): a point, or a row `{step, time?, <key>…}`.
"""

import json
import math
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from app.errors import Invalid, Problem
from app.metrics.ingest import MetricPoint

MAX_POINTS = 100_000
MAX_KEYS = 5_000
_MAX_KEY = 500
_MAX_STEP = 2**53
# Unix seconds; all of it can be shown as a date in any zone.
_END_OF_TIME = 2**35
_SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_STEP, _TIME, _POINTS, _KEY, _VALUE = "step", "time", "points", "key", "value"


def read_points(body: bytes, *, is_lines: bool, received_at: float) -> list[MetricPoint]:
    """All points of a body; `received_at` (Unix seconds) is the time of those that have none.

    Raises `Invalid`, naming the place of the first wrong value; nothing is taken then.
    """
    points: list[MetricPoint] = []
    keys: set[str] = set()
    for point in _all(body, is_lines, received_at):
        points.append(point)
        keys.add(point.key)
        if len(points) > MAX_POINTS:
            raise _too_many(f"{MAX_POINTS:,} points")
        if len(keys) > MAX_KEYS:
            raise _too_many(f"{MAX_KEYS:,} keys")
    return points


def _all(body: bytes, is_lines: bool, received_at: float) -> Iterator[MetricPoint]:
    if is_lines:
        for number, line in enumerate(body.splitlines(), 1):
            if line.strip():
                yield from _line(_load(line, f"line {number}"), f"line {number}", received_at)
        return
    whole = _load(body, "body")
    if isinstance(whole.get(_POINTS), list):
        for index, item in enumerate(whole[_POINTS]):
            yield _point(item, f"points.{index}", received_at)
    else:
        yield from _columns(whole, received_at)


def _load(text: bytes, place: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _wrong(place, "json", f"this is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise _wrong(place, "json", "give an object")
    return value


def _line(row: dict[str, Any], place: str, received_at: float) -> Iterator[MetricPoint]:
    if _KEY in row and _VALUE in row:
        yield _point(row, place, received_at)
        return
    step, time = _step(row.get(_STEP), place), _time(row.get(_TIME), place, received_at)
    for key, value in row.items():
        if key not in (_STEP, _TIME) and value is not None:
            yield MetricPoint(_key(key, place), step, _value(value, f"{place}.{key}"), time)


def _point(item: Any, place: str, received_at: float) -> MetricPoint:
    if not isinstance(item, dict):
        raise _wrong(place, "type", "give an object {key, step, value, time?}")
    return MetricPoint(
        key=_key(item.get(_KEY), f"{place}.key"),
        step=_step(item.get(_STEP), place),
        value=_value(item.get(_VALUE), f"{place}.value"),
        time=_time(item.get(_TIME), place, received_at),
    )


def _columns(whole: dict[str, Any], received_at: float) -> Iterator[MetricPoint]:
    steps = whole.get(_STEP)
    if not isinstance(steps, list):
        message = 'give {"points": [...]}, or columns with a list named "step"'
        raise _wrong("body", "shape", message)
    places = [_step(step, f"step.{index}") for index, step in enumerate(steps)]
    given = _column(whole, _TIME, len(steps)) if _TIME in whole else [None] * len(steps)
    times = [_time(time, f"time.{i}", received_at) for i, time in enumerate(given)]
    for name in whole.keys() - {_STEP, _TIME}:
        key = _key(name, "key")
        yield from _one_column(key, places, times, _column(whole, name, len(steps)))


def _one_column(
    key: str, steps: list[int], times: list[float], values: Iterable[Any]
) -> Iterator[MetricPoint]:
    for index, value in enumerate(values):
        if value is not None:
            yield MetricPoint(key, steps[index], _value(value, f"{key}.{index}"), times[index])


def _column(whole: dict[str, Any], name: str, length: int) -> list[Any]:
    column = whole[name]
    if not isinstance(column, list) or len(column) != length:
        raise _wrong(name[:_MAX_KEY], "length", f"give a list of {length} values, like step")
    return column


def _key(key: Any, place: str) -> str:
    if not isinstance(key, str) or not 0 < len(key) <= _MAX_KEY or not key.isprintable():
        raise _wrong(place, "key", f"a key has 1 to {_MAX_KEY} printable characters")
    return key


def _step(step: Any, place: str) -> int:
    is_number = isinstance(step, int | float) and not isinstance(step, bool)
    if not is_number or step != step or abs(step) > _MAX_STEP or step != int(step):
        raise _wrong(f"{place}.step", "step", "a step is a whole number within ±2^53")
    return int(step)


def _value(value: Any, place: str) -> float:
    if isinstance(value, str) and value in _SPECIAL:
        return _SPECIAL[value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong(place, "value", 'a value is a number, "NaN", "Infinity" or "-Infinity"')
    try:
        return float(value)
    except OverflowError:
        raise _wrong(place, "value", "this number is too large") from None


def _time(time: Any, place: str, received_at: float) -> float:
    if time is None:
        return received_at
    seconds = _seconds(time)
    if seconds is None or not 0 <= seconds < _END_OF_TIME:
        message = "a time is RFC 3339 with its zone, or Unix seconds, from 1970 to 3058"
        raise _wrong(f"{place}.time", "time", message)
    return float(seconds)


def _seconds(time: Any) -> int | float | None:
    if isinstance(time, int | float):
        return None if isinstance(time, bool) else time
    try:
        at = datetime.fromisoformat(time)
        return at.timestamp() if at.tzinfo is not None else None
    except (ValueError, TypeError, OverflowError):
        return None


def _too_many(limit: str) -> Invalid:
    return _wrong("body", "too_many", f"at most {limit} a call; send it in parts")


def _wrong(field: str, rule: str, message: str) -> Invalid:
    return Invalid(f"{field}: {message}; no point was stored", [Problem(field, rule, message)])
