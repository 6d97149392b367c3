"""Which config keys count as different."""

import math
from typing import Any

import pytest

from app.compare.differences import NOT_SET, differences


def keys(*configs: dict[str, Any]) -> list[str]:
    return [row.key for row in differences(configs)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 1.0),
        (3e-6, 0.000003),
        (0.1, 0.10000000000000000555),
        (0.0, -0.0),
        (math.nan, math.nan),
        ([1, 2.0], [1.0, 2]),
        ({"b": 1}, {"b": 1.0}),
        (2**60, 2.0**60),
        (None, None),
    ],
)
def test_the_same_value_in_another_spelling_is_no_difference(one: Any, other: Any) -> None:
    assert keys({"a": one}, {"a": other}) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, True),
        (1, "1"),
        (0, None),
        ("", None),
        ([1], [True]),
        ([1, 2], [2, 1]),
        (2**53, 2**53 + 1),
        (0.1 + 0.2, 0.3),
        ("a", "A"),
    ],
)
def test_what_a_trainer_would_tell_apart_is_a_difference(one: Any, other: Any) -> None:
    assert keys({"a": one}, {"a": other}) == ["a"]


def test_a_missing_key_is_not_null() -> None:
    (row,) = differences([{"a": 1, "b": None}, {"a": 1}])
    assert (row.key, row.values) == ("b", (None, NOT_SET))


def test_nested_values_differ_by_dotted_keys_in_the_order_of_the_configs() -> None:
    before = {"trainer": {"lr": 1e-6, "seed": 1}, "z": 1}
    after = {"trainer": {"seed": 2, "lr": 1e-5}, "a": 1, "z": 1}
    found = differences([before, after])

    assert [row.key for row in found] == ["trainer.lr", "trainer.seed", "a"]
    assert [row.is_seed for row in found] == [False, True, False]


def test_only_numbers_and_few_values_make_an_axis() -> None:
    configs: list[dict[str, Any]] = [
        {"n": n, "text": f"t{n}", "big": 10**400 + n} for n in range(20)
    ]
    rows = {row.key: row for row in differences([*configs, {}])}

    assert rows["n"].is_axis
    assert rows["n"].numbers[-1] is None
    assert not rows["text"].is_axis
    assert not rows["big"].is_numeric
