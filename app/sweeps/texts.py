"""Values, ranges and lists of configs as people type them. Pure."""

import re
import shlex
from collections.abc import Iterator

from app.errors import Problem
from app.recipes import service as recipes
from app.recipes.model import Recipe, Value
from app.recipes.numbers import find_number, find_whole_number
from app.sweeps.expansion import MAX_RUNS, Draw, LogUniform, Point, Uniform, WholeNumber

# Blanks are made one before: any number of them, tried from each, would take their square of steps.
_TO = re.compile(r" ?(?:,|\.\.+|…|–|\bto\b) ?")
# A shell's words are read in the square of their length.
_LONGEST_LINE = 10_000
# Beyond it, floats no longer tell whole numbers apart.
_LARGEST = 2**53
_OPEN, _CLOSE, _QUOTES = "[{(", "]})", "'\""
VALUES, UNIFORM, LOG_UNIFORM, WHOLE = "values", "uniform", "log_uniform", "int"


class Unread(Exception):
    """What was typed means nothing; `problem` says for whom and why."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.problem = Problem(field, "unread", message)


def read_values(recipe: Recipe, key: str, text: str) -> tuple[Value, ...]:
    """`0, 1, 2` as values of the key; commas inside brackets and quotes are part of a value."""
    return tuple(read_value(recipe, key, part) for part in split(text))


def read_value(recipe: Recipe, key: str, text: str) -> Value:
    """A text that is no value of the key's type stays text, for the recipe's checks to refuse."""
    found: Value = recipes.read_texts(recipe, {key: text})[key]
    return found


def read_draw(key: str, how: str, text: str) -> Draw:
    """`1e-4 to 1e-2` as a range. Raises `Unread`."""
    ends = _TO.split(" ".join(text.split()), maxsplit=2)
    if len(ends) == 2 and how == WHOLE:
        low, high = find_whole_number(ends[0]), find_whole_number(ends[1])
        if low is not None and high is not None and max(abs(low), abs(high)) <= _LARGEST:
            return WholeNumber(low, high)
    elif len(ends) == 2:
        low_end, high_end = find_number(ends[0]), find_number(ends[1])
        if low_end is not None and high_end is not None:
            kind = LogUniform if how == LOG_UNIFORM else Uniform
            return kind(float(low_end), float(high_end))
    wanted = (
        "two whole numbers, as in 0 to 9" if how == WHOLE else "two numbers, as in 1e-4 to 1e-2"
    )
    raise Unread(key, f"{key}: a range is {wanted}")


def whole_numbers(key: str, text: str) -> tuple[Value, ...]:
    """All whole numbers of `0 to 9`, for a grid. Raises `Unread`."""
    found = read_draw(key, WHOLE, text)
    assert isinstance(found, WholeNumber)
    if found.high - found.low >= MAX_RUNS:
        raise Unread(key, f"{key}: a grid takes at most {MAX_RUNS} values of a key")
    return tuple(range(found.low, found.high + 1))


def read_points(recipe: Recipe, text: str, field: str) -> tuple[Point, ...]:
    """One config a line: `key=value key=value`, quoted as in a shell. Raises `Unread`."""
    lines = enumerate(text.splitlines(), start=1)
    return tuple(_point(recipe, line, n, field) for n, line in lines if line.strip())


def split(text: str) -> list[str]:
    """The parts between commas, without outer blanks; empty parts are left out."""
    return [part.strip() for part in _parts(text) if part.strip()]


def _parts(text: str) -> Iterator[str]:
    depth, quote, start = 0, "", 0
    for place, sign in enumerate(text):
        if quote:
            quote = "" if sign == quote else quote
        elif sign in _QUOTES:
            quote = sign
        elif sign in _OPEN:
            depth += 1
        elif sign in _CLOSE:
            depth -= 1
        elif sign == "," and depth <= 0:
            yield text[start:place]
            start = place + 1
    yield text[start:]


def _point(recipe: Recipe, line: str, number: int, field: str) -> Point:
    if len(line) > _LONGEST_LINE:
        raise Unread(field, f"line {number} has more than {_LONGEST_LINE:,} characters")
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise Unread(field, f"line {number}: {str(error).lower()}") from None
    found: dict[str, Value] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise Unread(field, f"line {number}: {word[:60]} is not key=value")
        if key in found:
            raise Unread(field, f"line {number} sets {key} twice")
        found[key] = read_value(recipe, key, value)
    return found
