"""What the runs table knows of a series without reading its points."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from app.metrics.columns import Columns

_BEFORE_ALL_STEPS = -(2**63)


class Direction(StrEnum):
    """Which way a metric is better."""

    MAX = "max"
    MIN = "min"


@dataclass(frozen=True, slots=True)
class SeriesSummary:
    """Totals of the visible points of a series.

    `last_step` is the highest step; `last` is its value, None when that is not finite. `best`,
    `min` and `max` look at finite points only and are None without any; `best_step` is the first
    step that reached `best`. `count` counts all points, `non_finite` those that are NaN or
    infinite.
    """

    count: int = 0
    non_finite: int = 0
    last: float | None = None
    last_step: int | None = None
    best: float | None = None
    best_step: int | None = None
    min: float | None = None
    max: float | None = None

    def extend(self, points: Columns, *, direction: Direction) -> "SeriesSummary":
        """The summary with `points` added, one a step, all after `last_step` (see `continues`).

        When they are not, summarise the visible points again.
        """
        return self.merge(summarise(points, direction=direction), direction=direction)

    def continues(self, points: Columns) -> bool:
        """Whether `points` ascend strictly and all lie after `last_step`."""
        steps = points.steps
        ascending = bool(np.all(steps[1:] > steps[:-1]))
        after = self.last_step is None or not steps.size or int(steps[0]) > self.last_step
        return ascending and after

    def merge(self, other: "SeriesSummary", *, direction: Direction) -> "SeriesSummary":
        """The summary of both, which share no step."""
        # At the same step, `other` was logged later.
        parts = sorted((self, other), key=_end)
        best = _best_of(parts, direction)
        return SeriesSummary(
            count=self.count + other.count,
            non_finite=self.non_finite + other.non_finite,
            last=parts[-1].last,
            last_step=parts[-1].last_step,
            best=best.best,
            best_step=best.best_step,
            min=min(_present([self.min, other.min]), default=None),
            max=max(_present([self.max, other.max]), default=None),
        )

    def without(self, lost: "SeriesSummary") -> "SeriesSummary":
        """The summary when points were replaced, none of which had made another of its parts."""
        count, non_finite = self.count - lost.count, self.non_finite - lost.non_finite
        return replace(self, count=count, non_finite=non_finite)


def summarise(points: Columns, *, direction: Direction) -> SeriesSummary:
    """The summary of visible points: sorted by step, one a step."""
    if not len(points):
        return SeriesSummary()
    finite = points.take(np.isfinite(points.values))
    last = float(points.values[-1])
    summary = SeriesSummary(
        count=len(points),
        non_finite=len(points) - len(finite),
        last=last if np.isfinite(last) else None,
        last_step=int(points.steps[-1]),
    )
    if not len(finite):
        return summary
    low, high = int(finite.values.argmin()), int(finite.values.argmax())
    best = high if direction is Direction.MAX else low
    return replace(
        summary,
        best=float(finite.values[best]),
        best_step=int(finite.steps[best]),
        min=float(finite.values[low]),
        max=float(finite.values[high]),
    )


def _end(part: SeriesSummary) -> int:
    return _BEFORE_ALL_STEPS if part.last_step is None else part.last_step


def _best_of(parts: list[SeriesSummary], direction: Direction) -> SeriesSummary:
    """The part with the better best value; the earlier step wins a tie."""
    known = [part for part in parts if part.best is not None]
    sign = 1.0 if direction is Direction.MIN else -1.0
    return min(
        known,
        key=lambda part: (sign * (part.best or 0.0), part.best_step or 0),
        default=SeriesSummary(),
    )


def _present(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]
