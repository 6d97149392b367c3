"""Where the configs of several runs differ. Pure."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from app.recipes.service import leaves

_SEED = re.compile(r"(^|[._])seeds?$")
_MOST_CATEGORIES = 12


class NotSet:
    """In place of a value: the run's config has no such key."""

    def __repr__(self) -> str:
        return "NOT_SET"


NOT_SET: Final = NotSet()


@dataclass(frozen=True, slots=True)
class Difference:
    """A key that not all runs have the same value of; `values` in the order of the runs."""

    key: str
    values: tuple[Any, ...]

    @property
    def is_seed(self) -> bool:
        return _SEED.search(self.key) is not None

    @property
    def numbers(self) -> list[float | None]:
        """None where a run has no finite number there."""
        return [_number(value) for value in self.values]

    @property
    def is_numeric(self) -> bool:
        """Whether each run that has the key has a finite number there."""
        found = zip(self.values, self.numbers, strict=True)
        return all(number is not None for value, number in found if value is not NOT_SET)

    @property
    def is_axis(self) -> bool:
        """Whether it can be an axis of a picture: numbers, or a few different values."""
        return self.is_numeric or len({comparable(value) for value in self.values}) <= (
            _MOST_CATEGORIES
        )


def differences(configs: Sequence[Mapping[str, Any]]) -> list[Difference]:
    """Keys in the order of the configs. 1 and 1.0 and 1e0 are the same value; true and 1 are not,
    nor are 1 and "1", nor null and a missing key.
    """
    flat = [dict(leaves(config)) for config in configs]
    keys = dict.fromkeys(key for config in flat for key in config)
    rows = (Difference(key, tuple(each.get(key, NOT_SET) for each in flat)) for key in keys)
    return [row for row in rows if len({comparable(value) for value in row.values}) > 1]


def comparable(value: Any) -> tuple[Any, ...]:
    """Equal, and hashed alike, for values that mean the same to a trainer."""
    if value is NOT_SET:
        return ("not set",)
    if isinstance(value, bool):
        return ("flag", value)
    if isinstance(value, int | float):
        return ("number", "nan" if value != value else value)
    if isinstance(value, Mapping):
        return ("map", *sorted((key, comparable(each)) for key, each in value.items()))
    if isinstance(value, list | tuple):
        return ("list", *map(comparable, value))
    return ("text", value) if isinstance(value, str) else ("null",)


def words_of(value: Any) -> str:
    """A config value in a line."""
    if value is NOT_SET:
        return "not set"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else repr(value)


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
