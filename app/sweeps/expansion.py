"""The points of a sweep: which values each of its runs gets. Pure, and the same each time.

A grid takes every combination, its last key changing fastest. A random sweep draws each key from a
stream of its own, seeded by the sweep's seed and the key's name: neither the order of the keys nor
another key changes what is drawn.
"""

import json
import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, product
from typing import Any

from app.errors import Problem
from app.recipes.model import Value

MAX_RUNS = 200
MAX_KEYS = 20
MAX_SEED = 2**31 - 1
# Draws that were there before are drawn again, so many times for each one wanted.
_PATIENCE = 20
# Enough to tell runs apart, and the same from every C library's logarithm.
_DIGITS = 6

Point = Mapping[str, Value]
"""Values by dotted key, to be put over those of a config version."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the values, each as likely."""

    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Uniform:
    """A number from `low` to `high`, of six digits."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class LogUniform:
    """A positive number whose logarithm is uniform, of six digits."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class WholeNumber:
    """A whole number from `low` to `high`, both included."""

    low: int
    high: int


Draw = Choice | Uniform | LogUniform | WholeNumber


@dataclass(frozen=True, slots=True)
class Grid:
    """Every combination of the values."""

    keys: Mapping[str, tuple[Value, ...]]


@dataclass(frozen=True, slots=True)
class Random:
    """`count` different points, drawn from `seed`."""

    keys: Mapping[str, Draw]
    count: int
    seed: int


@dataclass(frozen=True, slots=True)
class Explicit:
    """The points themselves; a key that one of them lacks keeps the version's value."""

    points: tuple[Point, ...]


Space = Grid | Random | Explicit


@dataclass(frozen=True, slots=True)
class Expansion:
    """At most `MAX_RUNS` points. `total`: how many there are; `wanted`: how many were asked for."""

    points: tuple[Point, ...]
    total: int
    wanted: int


def keys_of(space: Space) -> list[str]:
    """The keys that a sweep sets, in the order in which they were given."""
    if isinstance(space, Explicit):
        return list(dict.fromkeys(key for point in space.points for key in point))
    return list(space.keys)


def expand(space: Space) -> Expansion:
    """The points of a space without `problems`; of a larger grid or list, the first ones."""
    if isinstance(space, Grid):
        total = math.prod(len(values) for values in space.keys.values())
        combined = (
            dict(zip(space.keys, values, strict=True)) for values in product(*space.keys.values())
        )
        return Expansion(tuple(islice(combined, MAX_RUNS)), total, total)
    if isinstance(space, Explicit):
        total = len(space.points)
        return Expansion(space.points[:MAX_RUNS], total, total)
    drawn = tuple(islice(_different(_draws(space)), space.count))
    return Expansion(drawn, len(drawn), space.count)


def problems(space: Space) -> list[Problem]:
    """What is wrong with a space by itself; `field` is the key at fault, or a part of the space."""
    keys = keys_of(space)
    found = list(_of_keys(keys, "explicit" if isinstance(space, Explicit) else "keys"))
    if isinstance(space, Grid):
        found += [p for key, values in space.keys.items() for p in _of_values(key, values)]
    elif isinstance(space, Random):
        found += [p for key, draw in space.keys.items() for p in _of_draw(key, draw)]
        found += _in_range("count", space.count, 1, MAX_RUNS)
        found += _in_range("seed", space.seed, 0, MAX_SEED)
    return found


def as_json(space: Space) -> dict[str, Any]:
    """A space as it is stored and as the API takes it."""
    if isinstance(space, Grid):
        return {"kind": "grid", "keys": {key: list(v) for key, v in space.keys.items()}}
    if isinstance(space, Explicit):
        return {"kind": "explicit", "configs": [dict(point) for point in space.points]}
    keys = {key: _draw_as_json(draw) for key, draw in space.keys.items()}
    return {"kind": "random", "keys": keys, "count": space.count, "seed": space.seed}


def _draw_as_json(draw: Draw) -> dict[str, Any]:
    if isinstance(draw, Choice):
        return {"kind": "choice", "values": list(draw.values)}
    kinds = {Uniform: "uniform", LogUniform: "log_uniform", WholeNumber: "int"}
    return {"kind": kinds[type(draw)], "low": draw.low, "high": draw.high}


def _draws(space: Random) -> Iterator[Point]:
    streams = {key: _stream(space.seed, key) for key in space.keys}
    for _ in range(space.count * _PATIENCE):
        yield {key: _value(draw, streams[key]()) for key, draw in space.keys.items()}


def _stream(seed: int, key: str) -> Callable[[], float]:
    # Seeding by text and `random()` itself have given the same numbers since Python 3.2.
    return random.Random(f"{seed}:{key}").random  # noqa: S311 - nothing secret


def _value(draw: Draw, share: float) -> Value:
    """`share` is at least 0 and below 1."""
    if isinstance(draw, Choice):
        return draw.values[int(share * len(draw.values))]
    if isinstance(draw, WholeNumber):
        return min(draw.high, draw.low + int(share * (draw.high - draw.low + 1)))
    if isinstance(draw, Uniform):
        drawn = draw.low + share * (draw.high - draw.low)
    else:
        low, high = math.log(draw.low), math.log(draw.high)
        drawn = math.exp(low + share * (high - low))
    return min(draw.high, max(draw.low, float(f"{drawn:.{_DIGITS - 1}e}")))


def _different(points: Iterable[Point]) -> Iterator[Point]:
    seen: set[str] = set()
    for point in points:
        text = json.dumps(point, sort_keys=True)
        if text not in seen:
            seen.add(text)
            yield point


def _of_keys(keys: list[str], field: str) -> Iterator[Problem]:
    if not keys:
        yield Problem(field, "required", "name at least one key, and the values it takes")
    if len(keys) > MAX_KEYS:
        yield Problem(field, "too_many", f"a sweep sets at most {MAX_KEYS} keys, not {len(keys)}")


def _of_values(key: str, values: tuple[Value, ...]) -> Iterator[Problem]:
    if not values:
        yield Problem(key, "required", f"{key} needs at least one value")
    elif len({json.dumps(value, sort_keys=True) for value in values}) < len(values):
        yield Problem(key, "twice", f"{key} has a value twice")


def _of_draw(key: str, draw: Draw) -> Iterator[Problem]:
    if isinstance(draw, Choice):
        yield from _of_values(key, draw.values)
    elif not (math.isfinite(draw.low) and math.isfinite(draw.high) and draw.low < draw.high):
        yield Problem(key, "range", f"{key}: the lower end must be below the upper one")
    elif isinstance(draw, LogUniform) and draw.low <= 0:
        yield Problem(
            key, "range", f"{key}: a log-uniform range starts above 0, not at {draw.low:g}"
        )


def _in_range(field: str, number: int, low: int, high: int) -> Iterator[Problem]:
    if not low <= number <= high:
        yield Problem(field, "range", f"the {field} is a whole number from {low} to {high:,}")
