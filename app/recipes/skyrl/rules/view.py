"""How rules read a config: raw values as SkyRL holds them, or values that must be of a kind."""

from collections.abc import Mapping
from functools import cache
from math import isfinite
from typing import Any

from app.recipes.numbers import find_number, find_whole_number
from app.recipes.skyrl.tree import load_tree, shipped_versions

_SHOWN = 120
_DIGITS = 40
LARGEST = 10**12
"""Whole numbers beyond it are no sizes: rules of ours do not look at them."""


class Unfit(Exception):
    """A value is missing or not of the kind that a rule of ours needs; the rule says nothing."""


class View:
    """Full values by dotted key, with changes laid over them to try what would pass.

    `is_trial` is true while a fix is tried: rules then need not look for one themselves. `asked`
    collects the keys that are read.
    """

    def __init__(self, full: Mapping[str, Any], changes: Mapping[str, Any] | None = None) -> None:
        self._full = full
        self._changes = changes or {}
        self.is_trial = changes is not None
        self.asked: list[str] = []

    def get(self, key: str) -> Any:
        """The value as SkyRL holds it, of whatever type. Raises `Unfit` if there is none."""
        self.asked.append(key)
        if key in self._changes:
            return self._changes[key]
        if key in self._full:
            return self._full[key]
        return self._of_group(key)

    def has(self, key: str) -> bool:
        return key in self._changes or key in self._full

    def whole(self, key: str) -> int:
        """A whole number of a sane size, no bool. Raises `Unfit`."""
        value = self.get(key)
        if isinstance(value, bool) or not isinstance(value, int) or abs(value) > LARGEST:
            raise Unfit(key)
        return value

    def number(self, key: str) -> float:
        """A finite number, no bool. Raises `Unfit`."""
        value = self.get(key)
        if not is_number(value) or isinstance(value, bool) or not _is_finite(value):
            raise Unfit(key)
        return float(value)

    def text(self, key: str) -> str:
        """Text. Raises `Unfit`."""
        value = self.get(key)
        if not isinstance(value, str):
            raise Unfit(key)
        return value

    def inside(self, key: str, name: str) -> Any:
        """A value of a free-form dict, None if it is not set."""
        value = self.get(key)
        inner = f"{key!s}.{name}"
        if inner in self._changes:
            return self._changes[inner]
        return value.get(name) if isinstance(value, Mapping) else None

    def changed(self, changes: Mapping[str, Any]) -> "View":
        """The same config with other values, for trying."""
        return View(self._full, {**self._changes, **changes})

    def _of_group(self, key: str) -> Any:
        parent, _, name = key.rpartition(".")
        group = self._full.get(parent)
        if isinstance(group, Mapping) and name in group:
            return group[name]
        raise Unfit(key)


def is_number(value: object) -> bool:
    """Whether Python counts with it, as SkyRL does: a bool is 0 or 1."""
    return isinstance(value, int | float)


def counted(*values: Any) -> Any:
    """The product, as Python counts. Raises `TypeError` for what is no number.

    SkyRL would multiply text too, and stop one step later: nothing is built here for that.
    """
    product: Any = 1
    for value in values:
        if not is_number(value):
            raise TypeError(f"{type(value).__name__} where a number belongs")
        product = product * value
    return product


def shown(value: object) -> str:
    """A value for a message, cut to a length that fits a line."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**_DIGITS:
        return f"a number of {value.bit_length()} bits"
    if isinstance(value, bool) or value is None:
        return str(value).lower().replace("none", "null")
    if isinstance(value, float):
        return f"{value:g}"
    text = _cut_repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def _cut_repr(value: object) -> str:
    if isinstance(value, str):
        return repr(value[:_SHOWN])
    if isinstance(value, int):
        return str(value)
    return f"a {type(value).__name__}" if isinstance(value, dict | list | tuple) else repr(value)


def number_in(value: object) -> int | float | None:
    """The number that a text is, if it is one; None for anything else."""
    if not isinstance(value, str) or len(value) > _DIGITS:
        return None
    whole = find_whole_number(value.strip())
    return find_number(value.strip()) if whole is None else whole


@cache
def number_keys() -> frozenset[str]:
    """Keys whose values are numbers, in any shipped version of SkyRL."""
    kinds = {"int", "float", "Optional[int]", "Optional[float]"}
    trees = map(load_tree, shipped_versions())
    return frozenset(key.key for tree in trees for key in tree.leaves if key.type in kinds)


def _is_finite(value: float) -> bool:
    try:
        return isfinite(value)
    except OverflowError:
        return False
