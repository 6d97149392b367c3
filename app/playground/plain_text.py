"""Text of a model, made safe to look at: what would hide or reorder it is written out. Pure.

Unicode's controls of direction can make a line read otherwise than it is, and zero-width
characters hide in it (Unicode Technical Report 36, "Bidirectional Text Spoofing"). Each becomes
a mark such as `U+202E`; nothing is left out.
"""

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

_SHOWN_AS_THEY_ARE = frozenset("\n\t")
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})
_BLANK_LETTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0")
"""Letters and marks by their category that show nothing."""
MOST_CHARACTERS = 4_000
MOST_MARKS = 200
"""An answer of nothing but marks is cut there: each is an element of the page."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of text. A mark stands for one character; `name` says which."""

    text: str
    is_mark: bool = False
    name: str = ""


@dataclass(frozen=True, slots=True)
class PlainText:
    """`omitted_count` characters at the end are not among the pieces."""

    pieces: list[Piece]
    omitted_count: int = 0


def plain_text(
    text: str, *, most: int = MOST_CHARACTERS, most_marks: int = MOST_MARKS
) -> PlainText:
    """At most `most` characters of `text` and `most_marks` marks."""
    pieces: list[Piece] = []
    taken, marks = 0, 0
    for is_hidden, stretch in _stretches(text[:most]):
        if is_hidden:
            room = most_marks - marks
            pieces += [_mark(letter) for letter in stretch[:room]]
            marks += len(stretch)
            if len(stretch) > room:
                taken += room
                break
        else:
            pieces.append(Piece(stretch))
        taken += len(stretch)
    return PlainText(pieces, len(text) - taken)


def _stretches(text: str) -> Iterator[tuple[bool, str]]:
    for is_hidden, letters in groupby(text, _is_hidden):
        yield is_hidden, "".join(letters)


def _is_hidden(letter: str) -> bool:
    if letter in _SHOWN_AS_THEY_ARE:
        return False
    return unicodedata.category(letter) in _HIDDEN_CATEGORIES or letter in _BLANK_LETTERS


def _mark(letter: str) -> Piece:
    return Piece(
        f"U+{ord(letter):04X}", True, unicodedata.name(letter, "control character").lower()
    )
