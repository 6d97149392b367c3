"""Reads numbers that people and programs give, whatever they give. Pure functions.

Python's own `int` and `float` take more than anybody means (`²` is a digit, `1_0` is ten, `nan` is
a number) and fail on what JSON may hold (a whole number beyond every float).
"""

import math
import re

_WHOLE = re.compile(r"[+-]?[0-9]{1,400}")
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")


def is_finite(value: int | float) -> bool:
    """Whether a float can hold the value; a bool counts as 0 or 1."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def find_whole_number(text: str) -> int | None:
    """The whole number that was typed, in ASCII digits; None if the text is none."""
    typed = text.strip()
    return int(typed) if _WHOLE.fullmatch(typed) else None


def find_number(text: str) -> float | None:
    """The finite number that was typed, in ASCII digits; None if the text is none."""
    typed = text.strip()
    value = float(typed) if _NUMBER.fullmatch(typed) else math.nan
    return value if math.isfinite(value) else None
