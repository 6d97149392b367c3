"""Reads a Python literal out of a model's answer, however hostile the answer is."""

import ast
import threading
import warnings

MAX_CHARACTERS = 1000
"""A longer literal is refused. An action of the maze has 16; an answer's tokens are limited."""

# `catch_warnings` swaps state of the whole process.
_filters = threading.Lock()


def read_literal(text: str) -> object:
    """The value of `text`, as `ast.literal_eval` gives it. `ValueError` with its reason if none.

    Odd escapes are accepted without the warning that Python would show for them.
    """
    if len(text) > MAX_CHARACTERS:
        raise ValueError(f"{len(text)} characters are too many")
    try:
        with _filters, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value: object = ast.literal_eval(text)
    except (SyntaxError, TypeError, RecursionError, MemoryError) as error:
        # Deep nesting ends in one of the last two, depending on the version of Python.
        raise ValueError(str(error)) from error
    return value
