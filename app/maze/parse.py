"""Finds the action in a model's answer, in SkyRL's two dialects.

Source: SkyRL commit a9564572, `examples/train/visgym/utils.py` and `env_sft.py`; recorded in
`tests/conformance/data/visgym/action-cases.json`. The work is bounded for any answer: upstream's
quadratic searches are cut at limits that no real answer comes near.
"""

import re
from collections.abc import Iterator
from enum import StrEnum
from itertools import islice
from typing import NamedTuple

from app.maze.literal import MAX_CHARACTERS, read_literal


class Dialect(StrEnum):
    """How a model writes its action: `('move', 0)` or `<action>right</action>`."""

    TUPLE = "tuple"
    KEYWORD = "keyword"


KEYWORDS = {
    "right": "('move', 0)",
    "up": "('move', 1)",
    "left": "('move', 2)",
    "down": "('move', 3)",
    "stop": "('stop', 'stop')",
}
"""The five actions: keyword and the text that `MazeEnv.step` takes."""


class Parsed(NamedTuple):
    """`action` is a text for `MazeEnv.step` if `matched`, else the stripped answer."""

    action: str
    matched: bool


_QUOTED_START = re.compile(r"""\(\s*['"](\w+)['"]\s*,""")
_BARE_START = re.compile(r"\(\s*(\w+)\s*,")
_ACTION_TAG = re.compile(r"<action>\s*(\w+)\s*</action>", re.IGNORECASE)
_FORMAT_TAGS = ("observation", "justification", "action")
_MAX_STARTS = 100


def parse(answer: str, dialect: Dialect) -> Parsed:
    """The action of `answer` in `dialect`."""
    return extract_tuple(answer) if dialect is Dialect.TUPLE else extract_keyword(answer)


def extract_tuple(answer: str) -> Parsed:
    """The first balanced `('name', payload)` that is a literal pair, any name.

    Only if there is none: the first `(name, payload)` that is one once the name is quoted.
    """
    found = _first_pair(_quoted_candidates(answer)) or _first_pair(_bare_candidates(answer))
    return Parsed(found, True) if found else Parsed(answer.strip(), False)


def extract_keyword(answer: str) -> Parsed:
    """The last `<action>word</action>`, any case. Not matched if that word is no keyword."""
    word = ""
    for tag in _ACTION_TAG.finditer(answer):
        word = tag[1].lower()
    if word in KEYWORDS:
        return Parsed(KEYWORDS[word], True)
    return Parsed(answer.strip(), False)


def has_valid_format(answer: str) -> bool:
    """True if observation, justification and action tags are each there and not blank."""
    return all(_tag_content(answer, tag).strip() for tag in _FORMAT_TAGS)


def spell(keyword: str, dialect: Dialect) -> str:
    """The shortest answer in `dialect` for a key of `KEYWORDS`. Raises `KeyError` for others."""
    action = KEYWORDS[keyword]
    return action if dialect is Dialect.TUPLE else f"<action>{keyword}</action>"


def _first_pair(candidates: Iterator[str]) -> str | None:
    for candidate in candidates:
        try:
            value = read_literal(candidate)
        except ValueError:
            continue
        if isinstance(value, tuple) and len(value) == 2:
            return candidate
    return None


def _quoted_candidates(text: str) -> Iterator[str]:
    for start in islice(_QUOTED_START.finditer(text), _MAX_STARTS):
        yield _balanced(text, start.start())


def _bare_candidates(text: str) -> Iterator[str]:
    for start in islice(_BARE_START.finditer(text), _MAX_STARTS):
        candidate = _balanced(text, start.start())
        yield candidate.replace(start[1], f"'{start[1]}'", 1)


def _balanced(text: str, start: int) -> str:
    """From the bracket at `start` to the one that closes it; empty if none does in reach."""
    depth = 0
    quote = ""
    position = start
    end = min(len(text), start + MAX_CHARACTERS)
    while position < end:
        letter = text[position]
        position += 1
        if quote:
            if letter == "\\":
                position += 1
            elif letter == quote:
                quote = ""
        elif letter in "'\"":
            quote = letter
        elif letter in "([":
            depth += 1
        elif letter in ")]":
            depth -= 1
            if depth == 0:
                return text[start:position]
    return ""


def _tag_content(text: str, tag: str) -> str:
    _, _, rest = text.partition(f"<{tag}>")
    content, closing, _ = rest.partition(f"</{tag}>")
    return content if closing else ""
