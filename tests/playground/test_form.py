"""The form of a new episode, as typed."""

import pytest

from app.maze.eval_sets import EASY_SOLVABLE_15, EVAL_SETS
from app.maze.parse import Dialect
from app.playground.form import Draft, Number, as_typed, read

PLAYED = {"lane-1": "end-1 maze-base:step 80", "lane-3": "you", "seed": "3"}


def problems(**values: str) -> dict[str, str]:
    draft = Draft(PLAYED | {name.replace("__", "-"): text for name, text in values.items()})
    return read(draft, EVAL_SETS.get(draft.text("eval_set")))[1]


def test_lanes_are_models_and_people_in_order() -> None:
    spec, wrong = read(Draft(PLAYED))
    assert wrong == {}
    assert spec is not None
    assert [(lane.endpoint, lane.model) for lane in spec.lanes] == [
        ("end-1", "maze-base:step 80"),
        (None, None),
    ]
    assert (spec.env_id, spec.seed, spec.max_turns) == ("maze_2d/easy", 3, 15)
    assert (spec.sampling.temperature, spec.sampling.max_tokens) == (0.0, 1024)


def test_an_item_of_an_eval_set_brings_its_own_maze() -> None:
    values = PLAYED | {"eval_set": "easy-solvable-15", "item": "2", "max_turns": "x", "seed": "?"}
    spec, wrong = read(Draft(values), EASY_SOLVABLE_15)
    assert wrong == {}
    assert spec is not None
    assert spec.seed == EASY_SOLVABLE_15.seeds[1]
    assert (spec.max_turns, spec.dialect) == (15, Dialect.KEYWORD)


def test_without_a_seed_there_is_a_new_one_each_time() -> None:
    seeds = set()
    for _ in range(20):
        spec, _ = read(Draft(PLAYED | {"seed": ""}))
        assert spec is not None
        seeds.add(spec.seed)
    assert len(seeds) > 10


def test_a_custom_size() -> None:
    spec, _ = read(Draft(PLAYED | {"env_id": "custom", "height": "7", "width": "31"}))
    assert spec is not None
    assert spec.env_id == "maze_2d/7x31"


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"lane__1": "", "lane__3": ""}, "lane-1"),
        ({"env_id": "maze_3d"}, "env_id"),
        ({"env_id": "custom", "height": "8"}, "height"),
        ({"env_id": "custom", "width": "101"}, "width"),
        ({"seed": "-1"}, "seed"),
        ({"seed": "²"}, "seed"),
        ({"max_turns": "0"}, "max_turns"),
        ({"dialect": "latin"}, "dialect"),
        ({"eval_set": "nothing"}, "eval_set"),
        ({"eval_set": "easy-0-63-t15", "item": "65"}, "item"),
        ({"temperature": "nan"}, "temperature"),
        ({"max_tokens": "1.5"}, "max_tokens"),
        ({"sampling_seed": "-3"}, "sampling_seed"),
    ],
)
def test_what_cannot_be_is_said_at_its_field(values: dict[str, str], field: str) -> None:
    assert list(problems(**values)) == [field]


def test_a_sampling_value_that_is_left_empty_is_the_usual_one() -> None:
    spec, _ = read(Draft(PLAYED | {"temperature": "", "sampling_seed": "7"}))
    assert spec is not None
    assert (spec.sampling.temperature, spec.sampling.seed) == (0.0, 7)


@pytest.mark.parametrize(
    "text", ["0", "1", "1234567", "2147483647", "0.7", "0.1", "0.123456789", "0.000001", "1000000"]
)
def test_a_number_is_typed_with_all_its_digits(text: str) -> None:
    number = Number("x", "X", 0, 2**31, is_whole="." not in text)
    value = number.read(text)
    assert value is not None
    assert as_typed(value) == text
