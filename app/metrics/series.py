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
    "Columns",
    "DamagedSeries",
    "Direction",
    "Floats",
    "SeriesSummary",
    "Steps",
    "VisiblePoints",
    "downsample",
    "hidden_points",
    "pack",
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


def visible_points(chunks: Iterable[AttemptColumns]) -> VisiblePoints:
    """The points to show of all stored `chunks`, which stand in the order of their storing.

    The newest attempt wins from its own first step on: what an older one logged there is hidden.
    Within an attempt the last point logged at a step wins.
    """
    shown = [(attempt, columns) for attempt, columns, _ in _parted(chunks)]
    attempts = [np.full(len(columns), attempt, np.int64) for attempt, columns in shown]
    return VisiblePoints(
        columns=Columns.concatenate([columns for _, columns in shown]),
        attempts=np.concatenate([np.empty(0, np.int64), *attempts]),
    )


def hidden_points(chunks: Iterable[AttemptColumns]) -> list[AttemptColumns]:
    """The points that a newer attempt hides, one entry an attempt that has such, oldest first.

    One point a step, sorted by step: the last one that the attempt logged there.
    """
    return [
        AttemptColumns(attempt, hidden) for attempt, _, hidden in _parted(chunks) if len(hidden)
    ]


def _parted(chunks: Iterable[AttemptColumns]) -> list[tuple[int, Columns, Columns]]:
    """Each attempt with its visible and its hidden points, oldest first."""
    by_attempt: dict[int, list[Columns]] = {}
    for chunk in chunks:
        if len(chunk.columns):
            by_attempt.setdefault(chunk.attempt, []).append(chunk.columns)
    parts: list[tuple[int, Columns, Columns]] = []
    cutoff: int | None = None
    for attempt in sorted(by_attempt, reverse=True):
        columns = sorted_unique(Columns.concatenate(by_attempt[attempt]))
        first_step = int(columns.steps[0])
        # Sorted, so that what is hidden is the end of it.
        end = len(columns) if cutoff is None else int(np.searchsorted(columns.steps, cutoff))
        parts.append((attempt, columns.take(slice(end)), columns.take(slice(end, None))))
        cutoff = first_step if cutoff is None else min(cutoff, first_step)
    parts.reverse()
    return parts


def sorted_unique(columns: Columns) -> Columns:
    """Sorted by step, one point a step: the last one logged there."""
    if np.all(columns.steps[1:] > columns.steps[:-1]):
        return columns
    ordered = columns.take(np.argsort(columns.steps, kind="stable"))
    is_last = np.ones(len(ordered), dtype=np.bool_)
    is_last[:-1] = ordered.steps[1:] != ordered.steps[:-1]
    return ordered.take(is_last)
