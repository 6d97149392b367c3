"""Keyset pages: a list ends with a cursor that says where the next one starts."""

import base64
import binascii
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from uuid import UUID

from app.errors import Invalid, Problem

T = TypeVar("T")
MAX_LIMIT = 200
_LARGEST = sys.float_info.max


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some items of a list; `next_cursor` None means that these are the last."""

    items: Sequence[T]
    next_cursor: str | None


def page_of(rows: Sequence[T], limit: int, place: Callable[[T], list[Any]]) -> Page[T]:
    """Cuts `limit + 1` rows to a page; `place` gives a row's values of the sort columns."""
    items = rows[:limit]
    more = len(rows) > limit
    return Page(items, encode_cursor(place(items[-1])) if more else None)


def encode_cursor(values: list[Any]) -> str:
    """Opaque to callers: URL-safe base64 of the JSON list."""
    return base64.urlsafe_b64encode(json.dumps(values).encode()).decode().rstrip("=")


def decode_cursor(cursor: str, length: int) -> list[Any]:
    """The values that `encode_cursor` was given. Raises `Invalid` for anything else."""
    try:
        values = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (binascii.Error, ValueError, RecursionError):
        values = None
    if not isinstance(values, list) or len(values) != length or not all(map(_is_plain, values)):
        raise _foreign()
    return values


def decode_id_cursor(cursor: str) -> UUID:
    """The id in a cursor of a list that is ordered by id alone. Raises `Invalid`."""
    try:
        return UUID(decode_cursor(cursor, 1)[0])
    except (ValueError, TypeError, AttributeError):
        raise _foreign() from None


def _is_plain(value: object) -> bool:
    """Whether a database can compare with it: text without NUL and surrogates, a finite number."""
    if isinstance(value, str):
        return "\0" not in value and not any("\ud800" <= sign <= "\udfff" for sign in value)
    if isinstance(value, int | float):
        return -_LARGEST <= value <= _LARGEST
    return value is None


def _foreign() -> Invalid:
    message = "this cursor was not made by this list: start again without one"
    return Invalid(message, [Problem("cursor", "cursor", message)])
