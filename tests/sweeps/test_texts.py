"""Values and ranges as people type them, and as nobody does."""

import pytest

from app.recipes import service as recipes
from app.recipes.model import Value
from app.sweeps.expansion import Uniform, WholeNumber
from app.sweeps.texts import UNIFORM, WHOLE, Unread, read_draw, read_points
from tests.processor import processor_under

RECIPE = recipes.get("visgym-sft-grpo")


@pytest.mark.parametrize(
    "typed", ["0 to 9", " 0  to \t 9 ", "0,9", "0 .. 9", "0...9", "0…9", "0 – 9"]
)
def test_a_range_is_typed_in_many_ways(typed: str) -> None:
    assert read_draw("key", WHOLE, typed) == WholeNumber(0, 9)
    assert read_draw("key", UNIFORM, typed) == Uniform(0.0, 9.0)


@pytest.mark.parametrize("typed", ["", "1", "1 to", "1 to 2 to 3", "1 2", "a to b", "1to2"])
def test_all_else_is_no_range(typed: str) -> None:
    with pytest.raises(Unread):
        read_draw("key", UNIFORM, typed)


@pytest.mark.parametrize(
    "typed", ["1" + " " * 500_000 + "2", "1" * 500_000 + "x to 2", "1" + ".x" * 250_000]
)
def test_a_long_range_is_refused_at_once(typed: str) -> None:
    with processor_under(1), pytest.raises(Unread):
        read_draw("key", UNIFORM, typed)


def test_a_config_on_a_line() -> None:
    points: list[dict[str, Value]] = [
        dict(point) for point in read_points(RECIPE, "trainer.seed=1 'trainer.run_name=a b'\n", "c")
    ]
    assert points == [{"trainer.seed": 1, "trainer.run_name": "a b"}]


def test_a_long_line_is_refused_at_once() -> None:
    with processor_under(1), pytest.raises(Unread, match="line 1 has more than"):
        read_points(RECIPE, "trainer.run_name=" + "a" * 900_000, "configs")
