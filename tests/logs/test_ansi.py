"""Colour codes become class names; all other sequences vanish."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.logs.ansi import segments, strip


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("", []),
        ("plain <b>", [("", "plain <b>")]),
        ("\x1b[32mgreen\x1b[0m rest", [("ansi-green", "green"), ("", " rest")]),
        ("\x1b[1m\x1b[32mboth", [("ansi-bold ansi-green", "both")]),
        ("\x1b[1;91mx\x1b[22my", [("ansi-bold ansi-bright-red", "x"), ("ansi-bright-red", "y")]),
        ("\x1b[41mx\x1b[49my", [("ansi-bg-red", "x"), ("", "y")]),
        ("\x1b[31mx\x1b[34my\x1b[mz", [("ansi-red", "x"), ("ansi-blue", "y"), ("", "z")]),
        ("\x1b[38;5;196mx\x1b[38;2;1;2;3;1my", [("", "x"), ("ansi-bold", "y")]),
        ("up\x1b[A and \x1b[2Kgone", [("", "up and gone")]),
        ("\x1b]8;;http://x\x07link\x1b]8;;\x1b\\", [("", "link")]),
        ("bell\x07 nul\x00 tab\t", [("", "bell nul tab\t")]),
        ("cut\x1b[3", [("", "cut3")]),
    ],
)
def test_segments(text: str, spans: list[tuple[str, str]]) -> None:
    assert segments(text) == spans


@given(st.text(alphabet="\x1b[]();0123489m\x07\\Aab<\r", max_size=60))
def test_no_escape_survives_and_text_is_that_of_strip(text: str) -> None:
    spans = segments(text)

    assert "".join(piece for _, piece in spans) == strip(text)
    assert "\x1b" not in strip(text)
    assert all(piece for _, piece in spans)
