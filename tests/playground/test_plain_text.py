"""What hides in a text, or reorders it, is written out."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from app.playground.plain_text import plain_text


def test_marks_stand_where_characters_hide() -> None:
    found = plain_text("a\u202eb\u200bc\x00\u2066")
    assert [(piece.text, piece.is_mark) for piece in found.pieces] == [
        ("a", False),
        ("U+202E", True),
        ("b", False),
        ("U+200B", True),
        ("c", False),
        ("U+0000", True),
        ("U+2066", True),
    ]
    assert found.pieces[1].name == "right-to-left override"


def test_lines_tabs_and_letters_of_all_scripts_stay() -> None:
    text = "one\ntwo\t三 עברית é"
    assert [piece.text for piece in plain_text(text).pieces] == [text]


def test_a_long_text_is_cut_and_says_by_how_much() -> None:
    found = plain_text("x" * 5_000, most=4_000)
    assert [len(piece.text) for piece in found.pieces] == [4_000]
    assert found.omitted_count == 1_000


def test_a_text_of_nothing_but_marks_does_not_fill_the_page() -> None:
    found = plain_text("\u200b" * 3_000)
    assert len(found.pieces) == 200
    assert found.omitted_count == 2_800


@given(st.text(max_size=300))
def test_nothing_that_hides_is_left_and_nothing_else_is_lost(text: str) -> None:
    found = plain_text(text)
    shown = "".join(piece.text for piece in found.pieces if not piece.is_mark)
    hidden = {"Cc", "Cf", "Co", "Cs", "Zl", "Zp"}
    assert all(unicodedata.category(each) not in hidden or each in "\n\t" for each in shown)
    marks = sum(piece.is_mark for piece in found.pieces)
    assert len(shown) + marks + found.omitted_count == len(text)
