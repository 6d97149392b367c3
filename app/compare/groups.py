"""Groups of compared runs: those that differ by their seed alone, above all. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.compare.asked import BY_EXPERIMENT, BY_SEED, BY_TAG, CONFIG, NO_GROUPS
from app.compare.differences import Difference, comparable, words_of
from app.compare.measured import ComparedRun

_LONGEST = 60
_KEYS_NAMED = 4
_Label = tuple[tuple[Any, ...], str]
_NO_TAG: _Label = ((), "no tag")


@dataclass(frozen=True, slots=True)
class Group:
    """Runs by their places in the comparison. `label` says what they share."""

    label: str
    members: tuple[int, ...]


def group_runs(
    runs: Sequence[ComparedRun], differing: Sequence[Difference], by: str
) -> tuple[str, list[Group]]:
    """What the runs are grouped by, and the groups in the order of their first runs.

    `by` empty: by seed if several runs differ by nothing else. A run with two tags is in two
    groups.
    """
    if by == BY_EXPERIMENT:
        homes = [each.run.experiment for each in runs]
        return by, _gathered([[((home.id,), home.name)] for home in homes])
    if by == BY_TAG:
        tags = [each.run.tags for each in runs]
        return by, _gathered([[((tag,), tag) for tag in each] or [_NO_TAG] for each in tags])
    if by.startswith(CONFIG):
        key = by.removeprefix(CONFIG)
        return by, _gathered(_labels([row for row in differing if row.key == key], len(runs)))
    if by == NO_GROUPS:
        return by, []
    groups = _gathered(_labels([row for row in differing if not row.is_seed], len(runs)))
    has_several = any(row.is_seed for row in differing) and len(groups) < len(runs)
    return (BY_SEED, groups) if by == BY_SEED or has_several else (NO_GROUPS, [])


def _labels(rows: Sequence[Difference], count: int) -> list[list[_Label]]:
    """One a run: what the values mean, and how they are written."""
    labels = []
    for place in range(count):
        values = [(row.key, row.values[place]) for row in rows]
        meaning = tuple(comparable(value) for _, value in values)
        labels.append([(meaning, _written(values))])
    return labels


def _written(values: Sequence[tuple[str, Any]]) -> str:
    parts = [f"{key.rpartition('.')[2]} {words_of(value)[:_LONGEST]}" for key, value in values]
    more = f" and {len(parts) - _KEYS_NAMED} more" if len(parts) > _KEYS_NAMED else ""
    return ", ".join(parts[:_KEYS_NAMED]) + more or "all runs"


def _gathered(labels: Sequence[Sequence[_Label]]) -> list[Group]:
    """By what labels mean: each group is written as its first run has it."""
    names: dict[tuple[Any, ...], str] = {}
    found: dict[tuple[Any, ...], list[int]] = {}
    for place, own in enumerate(labels):
        for meaning, name in dict(own).items():
            names.setdefault(meaning, name)
            found.setdefault(meaning, []).append(place)
    return [Group(names[meaning], tuple(places)) for meaning, places in found.items()]
