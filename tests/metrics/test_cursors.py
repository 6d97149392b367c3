"""What readers give back comes apart as it was put together, and nothing else does."""

import base64
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.metrics.cursors import Cursor, combine, has_mark, mark_of, parse_all

NUMBERS = st.integers(-(2**62), 2**62)
COUNTS = st.integers(0, 2**31 - 1)
CURSORS = st.builds(Cursor, st.integers(0, 2**62), COUNTS, st.integers(1, 99), NUMBERS, COUNTS)
MARK = mark_of(["loss"])


@given(st.lists(CURSORS, max_size=20, unique_by=lambda each: each.series_id))
def test_single_and_combined_cursors_come_back(cursors: list[Cursor]) -> None:
    expected = {each.series_id: each for each in cursors}
    assert parse_all(map(str, cursors), most=20) == expected
    combined = combine(MARK, cursors)
    assert parse_all([combined], most=20) == expected
    assert has_mark(combined, MARK)


def test_a_hundred_alike_series_take_a_short_text() -> None:
    cursors = [Cursor(7_000 + 13 * n, 1_000, 1, 999) for n in range(100)]
    assert len(combine(MARK, cursors)) < 500


def test_a_mark_tells_states_apart() -> None:
    assert mark_of(["loss", 1]) != mark_of(["loss", 2])
    assert not has_mark(combine(mark_of(["lr"]), []), MARK)
    assert mark_of(["\ud800"])


def packed(body: bytes) -> str:
    return combine(MARK, [])[:13] + base64.urlsafe_b64encode(zlib.compress(body)).decode()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "1:2:3",
        "1:2:3:4:5:6",
        "a:b:c:d",
        "1:-2:3:4",
        f"1:2:3:{2**64}",
        f"1:{2**31}:1:1",
        "c",
        "c" + "A" * 40,
        combine(MARK, [Cursor(1, 2, 1, 4)])[:-6],
        packed(b"x" * 39),
        packed(bytes(40 * 21)),
        packed(b"\xff" * 40),
    ],
)
def test_a_text_that_was_not_made_here(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_all([text], most=20)
