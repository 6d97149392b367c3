"""Where two configs differ. Pure functions over full values."""

from collections.abc import Mapping
from dataclasses import dataclass

from app.recipes.model import Value


@dataclass(frozen=True, slots=True)
class Change:
    """A key with its two values; `is_new` and `is_gone`: only one side has the key."""

    key: str
    before: Value
    after: Value
    is_new: bool = False
    is_gone: bool = False


def changes(before: Mapping[str, Value], after: Mapping[str, Value]) -> list[Change]:
    """Keys whose values differ, in the order of `before`, then what only `after` has."""
    keys = list(before) + [key for key in after if key not in before]
    return [
        Change(
            key,
            before.get(key),
            after.get(key),
            is_new=key not in before,
            is_gone=key not in after,
        )
        for key in keys
        if (key in before) is not (key in after) or not _is_same(before[key], after[key])
    ]


def _is_same(one: Value, other: Value) -> bool:
    # True is not 1 to a trainer, though Python says that they are equal.
    return one == other and isinstance(one, bool) is isinstance(other, bool)
