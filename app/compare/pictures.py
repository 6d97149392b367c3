"""Pictures of a comparison as plain SVG: parallel coordinates and a scatter. Pure geometry.

Our own, because the chart library's small bundles have no parallel coordinates.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.compare.differences import NOT_SET, comparable, words_of

_LOG_DECADES = 2
_TICKS = 4
_FEW = 6
# Pixels: a picture fills the page's width as far as its axes stay near enough to be followed.
_WIDTH, _LEAST_GAP, _MOST_GAP = 900, 124, 260
_TOP, _HEIGHT, _SIDE = 34, 220, 64
_MOST_AXES = 8


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark of an axis: `place` is from 0, the low end, to 1."""

    place: float
    text: str


@dataclass(frozen=True, slots=True)
class Axis:
    """Where the runs lie on an axis: from 0 to 1, None where a run has no value."""

    title: str
    places: tuple[float | None, ...]
    ticks: tuple[Tick, ...]
    is_log: bool = False


@dataclass(frozen=True, slots=True)
class AxisLine:
    """An axis as it is drawn."""

    axis: Axis
    x: int
    marks: tuple[tuple[float, str], ...]
    """(y, text) of its ticks."""


@dataclass(frozen=True, slots=True)
class Parallel:
    """One line a run through all axes; `paths` is empty for a run with fewer than two values."""

    width: int
    height: int
    top: int
    bottom: int
    axes: tuple[AxisLine, ...]
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Dot:
    """A run in a scatter: its number, and where it lies."""

    run: int
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Scatter:
    """Marks are (pixel, text) along each axis."""

    width: int
    height: int
    left: int
    bottom: int
    x: Axis
    y: Axis
    x_marks: tuple[tuple[float, str], ...]
    y_marks: tuple[tuple[float, str], ...]
    dots: tuple[Dot, ...]


def number_axis(
    title: str, numbers: Sequence[float | None], *, log: bool = True, few: bool = True
) -> Axis:
    """An axis of numbers; logarithmic, if it may be, for positive ones that span two decades.

    `few`: where there are few different ones, these are its ticks.
    """
    known = [number for number in numbers if number is not None]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    is_log = log and low > 0 and math.log10(high) - math.log10(low) >= _LOG_DECADES
    different = sorted(set(known))
    if few and len(different) <= _FEW:
        # Of a grid: the values themselves.
        ticks = different
    else:
        ticks = _log_ticks(low, high) if is_log else _even_ticks(low, high)

    def place(number: float) -> float:
        if low == high:
            return 0.5
        if is_log:
            span = math.log(high) - math.log(low)
            return (math.log(number) - math.log(low)) / span
        # Halves: the difference of two large numbers may be none that a float can hold.
        return (number / 2 - low / 2) / (high / 2 - low / 2)

    return Axis(
        title,
        tuple(None if number is None else place(number) for number in numbers),
        tuple(Tick(place(number), short(number)) for number in ticks),
        is_log,
    )


def category_axis(title: str, values: Sequence[Any]) -> Axis:
    """An axis of a few values in the order of their first runs; evenly apart."""
    names: dict[tuple[Any, ...], str] = {}
    for value in values:
        if value is not NOT_SET:
            names.setdefault(comparable(value), words_of(value))
    places = {meaning: (n + 0.5) / len(names) for n, meaning in enumerate(names)}
    return Axis(
        title,
        tuple(places.get(comparable(value)) for value in values),
        tuple(Tick(places[meaning], name) for meaning, name in names.items()),
    )


def parallel(axes: Sequence[Axis]) -> Parallel:
    """At most eight axes, the last one always: it is the metric."""
    drawn = [*axes[: _MOST_AXES - 1], axes[-1]] if len(axes) > _MOST_AXES else list(axes)
    bottom = _TOP + _HEIGHT
    gap = max(_LEAST_GAP, min(_MOST_GAP, _WIDTH // (len(drawn) - 1)))

    def y(place: float) -> float:
        return round(bottom - place * _HEIGHT, 1)

    lines = tuple(
        AxisLine(axis, _SIDE + n * gap, tuple((y(tick.place), tick.text) for tick in axis.ticks))
        for n, axis in enumerate(drawn)
    )
    count = len(axes[0].places)
    paths = tuple(
        _path([(line.x, line.axis.places[run]) for line in lines], y) for run in range(count)
    )
    width = 2 * _SIDE + (len(lines) - 1) * gap
    return Parallel(width, bottom + 16, _TOP, bottom, lines, paths)


def scatter(x: Axis, y: Axis) -> Scatter:
    """A dot a run that has both values."""
    width, height, left, right, top, bottom = 640, 320, 72, 40, 12, 40
    inner_x, inner_y = width - left - right, height - top - bottom

    def across(place: float) -> float:
        return round(left + place * inner_x, 1)

    def down(place: float) -> float:
        return round(height - bottom - place * inner_y, 1)

    return Scatter(
        width,
        height,
        left,
        height - bottom,
        x,
        y,
        tuple((across(tick.place), tick.text) for tick in x.ticks),
        tuple((down(tick.place), tick.text) for tick in y.ticks),
        tuple(
            Dot(run, across(place), down(other))
            for run, (place, other) in enumerate(zip(x.places, y.places, strict=True))
            if place is not None and other is not None
        ),
    )


def short(number: float) -> str:
    """Four digits of a number: `0.001`, `3e-06`, `1,024`."""
    if number == int(number) and abs(number) < 1e7:
        return f"{int(number):,}"
    return f"{number:.4g}"


def _path(points: Sequence[tuple[int, float | None]], y: Any) -> str:
    """A line through the known places; broken where a value is missing."""
    parts, is_open = [], False
    for x, place in points:
        if place is not None:
            parts.append(f"{'L' if is_open else 'M'}{x} {y(place)}")
        is_open = place is not None
    return "".join(parts) if len(parts) > 1 else ""


def _even_ticks(low: float, high: float) -> list[float]:
    """Round numbers between the ends, and the ends."""
    span = high - low
    if not 0 < span < math.inf:
        return [low] if low == high else [low, high]
    step = 10 ** math.floor(math.log10(span / _TICKS))
    step = next(step * factor for factor in (1, 2, 5, 10) if span / (step * factor) <= _TICKS)
    first = math.ceil(low / step)
    inner = [n * step for n in range(first, math.floor(high / step) + 1)]
    room = span * 0.1
    return [low, *(each for each in inner if low + room < each < high - room), high]


def _log_ticks(low: float, high: float) -> list[float]:
    """Powers of ten between the ends, and the ends."""
    first, last = math.ceil(math.log10(low)), math.floor(math.log10(high))
    step = max(1, round((last - first) / _TICKS))
    inner = [10.0**power for power in range(first, last + 1, step)]
    return [low, *(each for each in inner if low * 1.5 < each < high / 1.5), high]
