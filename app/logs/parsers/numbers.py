"""Numbers as people's programs print them, read from the text that a pattern found."""

import re

_LONGEST = 64
# What stands around a number in a line: quotes, brackets, the comma of a list.
_AROUND = " \t\"'`()[]{}<>,;:="
# A comma counts only between groups of three digits: `0,5` is no number rather than 5.
_NUMBER = re.compile(
    r"[+-]?(?:(?:\d+|[1-9]\d{0,2}(?:,\d{3})+)(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?"
    r"|[+-]?(?:nan|inf|infinity)",
    re.ASCII | re.IGNORECASE,
)
# As for pushed points: beyond this, floats no longer tell two steps apart.
_LARGEST_STEP = 2**53


def find_number(text: str) -> float | None:
    """`1.5e-3`, `1,234`, `nan`, `-inf`, and `12%` as 12; None for what is no number."""
    if len(text) > _LONGEST:
        return None
    bare = text.strip(_AROUND).removesuffix("%").rstrip(" .")
    return float(bare.replace(",", "")) if _NUMBER.fullmatch(bare) else None


def find_step(text: str) -> int | None:
    """A whole number within ±2^53, or None."""
    number = find_number(text)
    if number is None or not abs(number) <= _LARGEST_STEP or not number.is_integer():
        return None
    return int(number)
