"""The points of a sweep, for any space."""

import math
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from app.recipes.model import Value
from app.sweeps.expansion import (
    MAX_RUNS,
    Choice,
    Draw,
    Explicit,
    Grid,
    LogUniform,
    Random,
    Uniform,
    WholeNumber,
    expand,
    keys_of,
    problems,
)
from app.sweeps.naming import differing, name_of, short_names

KEYS = st.from_regex(r"[a-z]{1,4}(\.[a-z]{1,4}){0,3}", fullmatch=True)
VALUES = st.none() | st.booleans() | st.integers(-99, 99) | st.text(max_size=6)
AXIS = st.lists(VALUES, min_size=1, max_size=9, unique_by=repr).map(tuple)
ENDS = st.tuples(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6)).map(lambda e: (e[0], e[0] + e[1]))
POSITIVE = st.tuples(st.floats(1e-9, 1e3), st.floats(1.1, 1e6)).map(lambda e: (e[0], e[0] * e[1]))
WHOLE = st.tuples(st.integers(-(10**6), 10**6), st.integers(1, 10**6))
DRAWS = st.one_of(
    AXIS.map(Choice),
    ENDS.map(lambda e: Uniform(*e)),
    POSITIVE.map(lambda e: LogUniform(*e)),
    WHOLE.map(lambda e: WholeNumber(e[0], e[0] + e[1])),
)
RANDOM = st.builds(
    Random,
    st.dictionaries(KEYS, DRAWS, min_size=1, max_size=5),
    st.integers(1, MAX_RUNS),
    st.integers(0, 2**31 - 1),
)
GRIDS = st.dictionaries(KEYS, AXIS, min_size=1, max_size=6)


def is_of(draw: Draw, value: Value) -> bool:
    if isinstance(draw, Choice):
        return any(value is each or value == each for each in draw.values)
    is_kind = isinstance(value, int if isinstance(draw, WholeNumber) else float)
    return is_kind and draw.low <= value <= draw.high  # type: ignore[operator]


@given(GRIDS)
def test_a_grid_is_every_combination_once(keys: dict[str, tuple[Value, ...]]) -> None:
    found = expand(Grid(keys))
    assert found.total == math.prod(len(values) for values in keys.values())
    assert len(found.points) == min(found.total, MAX_RUNS)
    assert len({repr(point) for point in found.points}) == len(found.points)
    for point in found.points:
        assert list(point) == list(keys)
        assert all(any(point[key] is each for each in keys[key]) for key in keys)


def test_a_grid_beyond_all_bounds_is_counted_and_not_made() -> None:
    huge = Grid({f"k{i}": tuple(range(100)) for i in range(20)})
    found = expand(huge)
    assert (found.total, len(found.points)) == (100**20, MAX_RUNS)


@given(RANDOM)
def test_draws_are_different_and_in_their_range(space: Random) -> None:
    found = expand(space)
    assert 1 <= len(found.points) == found.total <= found.wanted == space.count
    assert len({repr(point) for point in found.points}) == len(found.points)
    assert all(is_of(space.keys[key], point[key]) for point in found.points for key in point)
    assert problems(space) == []


@given(RANDOM)
def test_draws_repeat_and_do_not_depend_on_the_order_of_keys(space: Random) -> None:
    turned = Random(dict(reversed(list(space.keys.items()))), space.count, space.seed)
    assert [dict(p) for p in expand(turned).points] == [dict(p) for p in expand(space).points]


@given(RANDOM, st.integers(1, MAX_RUNS))
def test_more_draws_go_on_from_fewer(space: Random, count: int) -> None:
    fewer, more = sorted((count, space.count))
    short = expand(Random(space.keys, fewer, space.seed)).points
    assert expand(Random(space.keys, more, space.seed)).points[: len(short)] == short


def test_the_draws_of_a_seed_are_these_for_ever() -> None:
    keys: dict[str, Draw] = {
        "lr": LogUniform(1e-5, 1e-2),
        "clip": Uniform(0.1, 0.3),
        "rank": Choice((8, 16, 32)),
        "seed": WholeNumber(0, 9),
    }
    points = expand(Random(keys, 3, 7)).points
    assert points == (FIRST, SECOND, THIRD)


FIRST: dict[str, Any] = {"lr": 0.00221123, "clip": 0.185365, "rank": 8, "seed": 8}
SECOND: dict[str, Any] = {"lr": 0.000484546, "clip": 0.21502, "rank": 8, "seed": 1}
THIRD: dict[str, Any] = {"lr": 5.88791e-05, "clip": 0.161615, "rank": 16, "seed": 9}


def test_what_cannot_be_is_said_by_key() -> None:
    def fields(space: Grid | Random | Explicit) -> list[tuple[str, str]]:
        return [(each.field, each.rule) for each in problems(space)]

    assert fields(Grid({})) == [("keys", "required")]
    assert fields(Explicit(({},))) == [("explicit", "required")]
    assert fields(Grid({"a": (), "b": (1, 1), "c": (1, True)})) == [
        ("a", "required"),
        ("b", "twice"),
    ]
    assert fields(Grid({f"k{i}": (1,) for i in range(21)})) == [("keys", "too_many")]
    wrong: dict[str, Draw] = {"a": Uniform(2, 1), "b": LogUniform(0, 1), "c": Uniform(0, math.inf)}
    assert fields(Random(wrong, 0, -1)) == [
        *[(key, "range") for key in "abc"],
        ("count", "range"),
        ("seed", "range"),
    ]


def test_a_space_with_few_points_says_how_many_there_are() -> None:
    found = expand(Random({"a": Choice((1, 2))}, 9, 0))
    assert (found.total, found.wanted) == (2, 9)


def test_runs_are_named_by_what_differs() -> None:
    space = Grid({"trainer.optimizer.lr": (0.001, 0.002), "trainer.seed": (1, 2), "x": (5,)})
    points = expand(space).points
    keys = differing(points, keys_of(space))
    assert keys == ["trainer.optimizer.lr", "trainer.seed"]
    assert [name_of(point, short_names(keys)) for point in points] == [
        "lr=0.001, seed=1",
        "lr=0.001, seed=2",
        "lr=0.002, seed=1",
        "lr=0.002, seed=2",
    ]
    assert short_names(["a.seed", "b.seed", "lr", "a.lr"]) == {
        "a.seed": "a.seed",
        "b.seed": "b.seed",
        "lr": "lr",
        "a.lr": "a.lr",
    }
    long = name_of({"a": "x\n" * 500, "b": [1, 2]}, {"a": "a" * 190, "b": "b"})
    assert len(long) <= 200
    assert long.isprintable()


@given(st.lists(KEYS, min_size=1, max_size=8, unique=True))
def test_short_names_are_different(keys: list[str]) -> None:
    names = short_names(keys)
    assert len(set(names.values())) == len(keys)
    assert all(key == short or key.endswith(f".{short}") for key, short in names.items())
