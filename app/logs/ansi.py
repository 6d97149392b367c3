"""Turns a terminal's colour codes into named spans; every other escape sequence is removed.

Codes: ECMA-48 SGR (`ESC [ … m`): 1 bold, 2 dim, 3 italic, 4 underline, 30–37 and 90–97 text
colour, 40–47 and 100–107 background. 256 and true colours have no class and are left out.
"""

import re
from collections.abc import Iterator

Span = tuple[str, str]

_COLOURS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_STYLES = {1: "bold", 2: "dim", 3: "italic", 4: "underline"}
_RESETS = {22: ("bold", "dim"), 23: ("italic",), 24: ("underline",), 39: ("fg",), 49: ("bg",)}
_ESCAPE = re.compile(
    r"\x1b\[([0-9;]*)m"  # colour
    r"|\x1b\[[0-?]*[ -/]*[@-~]"  # other control sequences
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # window titles and links
    r"|\x1b[ -/]*[0-~]?"  # two-character escapes, and a lone ESC
    r"|[\x00-\x08\x0b-\x1f\x7f]"  # control characters besides tab and LF
)


def segments(text: str) -> list[Span]:
    """Split a line into (CSS classes, text) pairs; plain text has the class string "".

    Neighbours of the same class are joined, empty ones left out; nothing is escaped.
    """
    spans: list[Span] = []
    for classes, piece in _pieces(text):
        if spans and spans[-1][0] == classes:
            spans[-1] = (classes, spans[-1][1] + piece)
        elif piece:
            spans.append((classes, piece))
    return spans


def strip(text: str) -> str:
    """The text alone, as a search should see it."""
    return _ESCAPE.sub("", text)


def _pieces(text: str) -> Iterator[Span]:
    state: dict[str, str] = {}
    position = 0
    for match in _ESCAPE.finditer(text):
        yield _classes(state), text[position : match.start()]
        position = match.end()
        if match[1] is not None:
            _apply(state, [int(code[:4] or 0) for code in match[1].split(";")])
    yield _classes(state), text[position:]


def _classes(state: dict[str, str]) -> str:
    return " ".join(f"ansi-{name}" for name in state.values())


def _apply(state: dict[str, str], codes: list[int]) -> None:
    remaining = iter(codes)
    for code in remaining:
        if code == 0:
            state.clear()
        elif code in (38, 48):
            _skip_extended(remaining)
        elif code in _STYLES:
            state[_STYLES[code]] = _STYLES[code]
        elif code in _RESETS:
            for name in _RESETS[code]:
                state.pop(name, None)
        else:
            _apply_colour(state, code)


def _skip_extended(remaining: Iterator[int]) -> None:
    """Drop the parameters of `38;5;n` or `38;2;r;g;b`."""
    for _ in range({5: 1, 2: 3}.get(next(remaining, 0), 0)):
        next(remaining, None)


def _apply_colour(state: dict[str, str], code: int) -> None:
    base, index = divmod(code, 10)
    if index < len(_COLOURS) and base in (3, 9):
        state["fg"] = ("bright-" if base == 9 else "") + _COLOURS[index]
    elif index < len(_COLOURS) and base in (4, 10):
        state["bg"] = "bg-" + ("bright-" if base == 10 else "") + _COLOURS[index]
