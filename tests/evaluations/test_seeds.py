"""Seeds as typed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.evaluations.seeds import MAX_SEEDS, checked_seeds, parse_seeds, seeds_text
from app.maze.eval_sets import EVAL_SETS


@pytest.mark.parametrize(
    ("text", "seeds"),
    [
        ("7", [7]),
        ("0-3", [0, 1, 2, 3]),
        (" 5, 1 ,2\n9-9", [5, 1, 2, 9]),
        (f"0-{MAX_SEEDS - 1}", list(range(MAX_SEEDS))),
    ],
)
def test_seeds_are_read_as_typed(text: str, seeds: list[int]) -> None:
    assert parse_seeds(text) == seeds


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "at least one"),
        ("1, 2, 1", "seed 1 is there twice"),
        ("3-1", "ends before it begins"),
        ("one", "one is no seed"),
        ("-4", "-4 is no seed"),
        ("1-2-3", "no seed and no range"),
        ("²", "no seed"),
        (f"0-{MAX_SEEDS}", "at most 1000"),
        ("0-9999999999999999", "at most 1000"),
        ("9" * 17, "no seed"),
        (str(2**53), "whole number from 0"),
    ],
)
def test_what_is_no_list_of_seeds_says_why(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_seeds(text)


@given(st.lists(st.integers(0, 200), min_size=1, max_size=50, unique=True))
def test_a_text_of_seeds_reads_back(seeds: list[int]) -> None:
    assert parse_seeds(seeds_text(seeds)) == seeds


def test_the_text_is_short_for_the_built_in_sets() -> None:
    assert seeds_text(EVAL_SETS["easy-0-63-t15"].seeds) == "0-63"
    assert seeds_text(EVAL_SETS["easy-solvable-15"].seeds).startswith("0, 2-3, 5, 7, 9-13")


def test_negative_seeds_of_an_api_body_are_refused() -> None:
    with pytest.raises(ValueError, match="not -1"):
        checked_seeds([0, -1])
