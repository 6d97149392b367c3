"""A metric series: the points to show, and the door to the rest of its parts.

Nothing stored is ever changed by a later attempt: what is shown is decided on reading, by
`visible_points`. How a series is stored is said in `app/metrics/growth.py`.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from app.metrics.columns import Columns, DamagedSeries, Floats, Steps, pack, unpack
from app.metrics.downsampling import MIN_DOWNSAMPLED_POINTS, downsample
from app.metrics.summaries import Direction, SeriesSummary, summarise

__all__ = [
    "CHUNK_POINTS",
    "MIN_DOWNSAMPLED_POINTS",
    "AttemptColumns",
    "AttemptParts",
    "Columns",
    "DamagedSeries",
    "Direction",
    "Floats",
    "SeriesSummary",
    "Steps",
    "VisiblePoints",
    "downsample",
    "pack",
    "parted",
    "sorted_unique",
    "summarise",
    "unpack",
    "visible_points",
]

CHUNK_POINTS = 512


@dataclass(frozen=True, slots=True, eq=False)
class AttemptColumns:
    """Points of one attempt, in the order in which they were logged."""

    attempt: int
    columns: Columns


@dataclass(frozen=True, slots=True, eq=False)
class VisiblePoints:
    """One point a step, sorted by step, and the attempt that each comes from; shape (n,)."""

    columns: Columns
    attempts: Steps


@dataclass(frozen=True, slots=True, eq=False)
class AttemptParts:
    """Points of one attempt, each sorted by step, one a step: those that are shown, and those that
    a newer attempt hides."""

    attempt: int
    visible: Columns
    hidden: Columns


def visible_points(chunks: Iterable[AttemptColumns]) -> VisiblePoints:
    """The points to show of all stored `chunks`, which stand in the order of their storing.

    The newest attempt wins from its own first step on: what an older one logged there is hidden.
    Within an attempt the last point logged at a step wins.
    """
    parts = parted(chunks)
    attempts = [np.full(len(part.visible), part.attempt, np.int64) for part in parts]
    return VisiblePoints(
        columns=Columns.concatenate([part.visible for part in parts]),
        attempts=np.concatenate([np.empty(0, np.int64), *attempts]),
    )


def parted(chunks: Iterable[AttemptColumns]) -> list[AttemptParts]:
    """The attempts of a series that have points, oldest first; see `visible_points`."""
    by_attempt: dict[int, list[Columns]] = {}
    for chunk in chunks:
        if len(chunk.columns):
            by_attempt.setdefault(chunk.attempt, []).append(chunk.columns)
    parts: list[AttemptParts] = []
    cutoff: int | None = None
    for attempt in sorted(by_attempt, reverse=True):
        columns = sorted_unique(Columns.concatenate(by_attempt[attempt]))
        first_step = int(columns.steps[0])
        # Sorted, so that what is hidden is the end of it.
        end = len(columns) if cutoff is None else int(np.searchsorted(columns.steps, cutoff))
        visible, hidden = columns.take(slice(end)), columns.take(slice(end, None))
        parts.append(AttemptParts(attempt, visible, hidden))
        cutoff = first_step if cutoff is None else min(cutoff, first_step)
    parts.reverse()
    return parts


def sorted_unique(columns: Columns) -> Columns:
    """Sorted by step, one point a step: the last one logged there."""
    if (columns.steps[1:] > columns.steps[:-1]).all():
        return columns
    ordered = columns.take(np.argsort(columns.steps, kind="stable"))
    is_last = np.ones(len(ordered), dtype=np.bool_)
    is_last[:-1] = ordered.steps[1:] != ordered.steps[:-1]
    return ordered.take(is_last)
