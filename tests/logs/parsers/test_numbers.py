"""Numbers as programs print them."""

import math

import pytest

from app.logs.parsers.numbers import find_number, find_step


@pytest.mark.parametrize(
    ("text", "number"),
    [
        *(("12", 12.0), ("-0.5", -0.5), ("+3.", 3.0), (".25", 0.25), ("007", 7.0)),
        *(("1.5e-3", 0.0015), ("1E+06", 1e6), ("-2e5", -2e5), ("1e400", math.inf)),
        *(("12%", 12.0), ("12.5 %", 12.5), ("1,234", 1234.0), ("-1,234,567.5", -1234567.5)),
        *(("0.5,", 0.5), ("'0.5'", 0.5), ("[0.5]", 0.5), ("0.5.", 0.5), ("=3", 3.0)),
        *(("inf", math.inf), ("-Inf", -math.inf), ("Infinity", math.inf), ("-inf%", -math.inf)),
    ],
)
def test_what_is_a_number(text: str, number: float) -> None:
    assert find_number(text) == number


@pytest.mark.parametrize("text", ["nan", "NaN", "-nan", "NAN,"])
def test_nan_is_kept(text: str) -> None:
    found = find_number(text)
    assert found is not None
    assert math.isnan(found)


@pytest.mark.parametrize(
    "text",
    [
        *("", "-", ".", "e5", "%", "1.2s", "3/4", "12k", "1_000", "0x10", "1.2.3", "--1", "1e"),
        # Another country's decimal comma must not become a number a thousand times as large.
        *("0,5", "1,5", "0,123", "12,34", "1,2345", "1234,567"),
        *("None", "true", "nano", "info", "٣", "½", "1" * 65),
    ],
)
def test_what_is_none(text: str) -> None:
    assert find_number(text) is None


@pytest.mark.parametrize(
    ("text", "step"),
    [("7", 7), ("1,000", 1000), ("12.0", 12), ("1e3", 1000), ("-1", -1), (str(2**53), 2**53)],
)
def test_a_step_is_a_whole_number(text: str, step: int) -> None:
    assert find_step(text) == step


@pytest.mark.parametrize("text", ["", "1.5", "nan", "inf", "1e17", "7/10", "-1e400"])
def test_what_is_no_step(text: str) -> None:
    assert find_step(text) is None
