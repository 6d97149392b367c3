"""The x axis of a chart: which points are placed on it where, and which lie in a window of it."""

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

import numpy as np
import numpy.typing as npt

from app.metrics.columns import Columns, Floats, Steps, to_milliseconds

METRIC_PREFIX = "metric:"

Indices = npt.NDArray[np.intp]


class AxisKind(StrEnum):
    STEP = "step"
    TIME = "time"
    RELATIVE = "relative"
    METRIC = "metric"


@dataclass(frozen=True, slots=True)
class Axis:
    """What x counts: steps, Unix seconds, seconds since a run's start, or the metric `key`."""

    kind: AxisKind = AxisKind.STEP
    key: str = ""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Reads `step`, `time`, `relative` or `metric:<key>`. Raises `ValueError`."""
        key = text.removeprefix(METRIC_PREFIX)
        if key != text:
            if not key:
                raise ValueError("a key must follow metric:")
            return cls(AxisKind.METRIC, key)
        kind = AxisKind(text)
        if kind is AxisKind.METRIC:
            raise ValueError("a key must follow metric:")
        return cls(kind)


@dataclass(frozen=True, slots=True)
class Window:
    """A piece of an axis, both ends included. Raises `ValueError` for ends that are no piece."""

    start: float = -math.inf
    end: float = math.inf

    def __post_init__(self) -> None:
        if math.isnan(self.start) or math.isnan(self.end) or self.start > self.end:
            raise ValueError("a window ends at or after its start")

    @property
    def is_whole(self) -> bool:
        return self.start == -math.inf and self.end == math.inf

    def indices(self, x: Steps | Floats) -> Indices:
        """Ascending indices of the points to draw: those inside, and one on either side.

        `x` of shape (n,), ascending or not. A line that crosses the window without a point in it
        keeps both of its ends.
        """
        before, after = x < self.start, x > self.end
        kept = ~(before | after)
        kept[:-1] |= kept[1:]
        kept[1:] |= ~(before | after)[:-1]
        crosses = (before[:-1] & after[1:]) | (after[:-1] & before[1:])
        kept[:-1] |= crosses
        kept[1:] |= crosses
        return np.flatnonzero(kept)


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """Points on an axis, ascending by `x`, which is None where x is the step.

    `x` float64 of shape (n,), finite. `missing` counts the points that have no place on the axis.
    """

    columns: Columns
    x: Floats | None = None
    missing: int = 0

    @property
    def places(self) -> Steps | Floats:
        """Where the points stand on the axis."""
        return self.columns.steps if self.x is None else self.x

    def take(self, index: Indices) -> "Placed":
        x = None if self.x is None else self.x[index]
        return Placed(self.columns.take(index), x, self.missing)


def place(columns: Columns, axis: Axis, *, origin: float, metric: Columns | None) -> Placed:
    """Puts points on an axis; `columns` and `metric` ascend by step, one point a step.

    `origin`: the run's start in Unix seconds. `metric`: the points of the axis' metric. A point
    whose time is unknown, or at whose step the metric has no finite value, has no place.
    """
    if axis.kind is AxisKind.STEP:
        return Placed(columns)
    if axis.kind is AxisKind.METRIC:
        x = _values_at(columns, metric)
    else:
        is_relative = axis.kind is AxisKind.RELATIVE
        x = to_milliseconds(columns.times - origin) if is_relative else columns.times
    found = Placed(columns, x)
    has_place = np.isfinite(x)
    if not has_place.all():
        found = Placed(columns, x, int(np.count_nonzero(~has_place)))
        found = found.take(np.flatnonzero(has_place))
    assert found.x is not None
    if (found.x[1:] < found.x[:-1]).any():
        found = found.take(np.argsort(found.x, kind="stable"))
    return found


def _values_at(columns: Columns, metric: Columns | None) -> Floats:
    """The metric's values at the steps of `columns`, NaN where it has none."""
    if metric is None or not len(metric):
        return np.full(len(columns), np.nan)
    places = np.minimum(np.searchsorted(metric.steps, columns.steps), len(metric) - 1)
    is_there = metric.steps[places] == columns.steps
    return np.where(is_there, metric.values[places], np.nan)
