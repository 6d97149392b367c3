"""Mean curves of groups with their spread. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from app.compare.groups import Group
from app.metrics.columns import Columns, Floats

GRID = 160
"""Steps at which a mean is taken; a picture shows no more."""


@dataclass(frozen=True, slots=True, eq=False)
class MeanCurve:
    """Over the runs of a group; columns of equal length, by step.

    `deviation` is that of a sample, 0 where fewer than two of the runs have come so far. `runs` is
    how many of them have points at all.
    """

    label: str
    runs: int
    steps: Floats
    mean: Floats
    deviation: Floats


def mean_curves(groups: Sequence[Group], columns: Mapping[int, Columns]) -> list[MeanCurve]:
    """`columns` are by place of the run, sorted by step; a run without points is left out.

    Between two points of a run the line is straight; before its first and after its last the run
    takes no part, so that no run is thought to go on.
    """
    found = [
        _mean(group, [columns[at] for at in group.members if at in columns]) for group in groups
    ]
    return [curve for curve in found if curve is not None]


def _mean(group: Group, columns: Sequence[Columns]) -> MeanCurve | None:
    finite = [each.take(np.isfinite(each.values)) for each in columns]
    known = [(each.steps.astype(float), each.values) for each in finite if len(each)]
    if not known:
        return None
    steps = np.unique(np.concatenate([steps for steps, _ in known]))
    if len(steps) > GRID:
        steps = steps[np.linspace(0, len(steps) - 1, GRID).round().astype(int)]
    rows = np.array(
        [np.interp(steps, at, values, left=np.nan, right=np.nan) for at, values in known]
    )
    count = np.sum(np.isfinite(rows), axis=0)
    mean = np.nansum(rows, axis=0) / count
    squares = np.nansum((rows - mean) ** 2, axis=0)
    deviation = np.sqrt(squares / np.maximum(count - 1, 1)) * (count > 1)
    return MeanCurve(group.label, len(known), steps, mean, deviation)
