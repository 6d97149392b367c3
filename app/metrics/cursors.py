"""Where a reader stands: in one series, or in all those of an answer.

Readers give cursors back as they got them, and know nothing of what is in them.
"""

import base64
import hashlib
import zlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Self

import numpy as np

_SEPARATOR = ":"
_MARK_BYTES = 9
_MARK_LENGTH = 12
_COMBINED = "c"
_FIELDS = 5
# What the column of a count can hold.
_LARGEST_COUNT = 2**31


class Cursor(NamedTuple):
    """Of one series: its stored points, newest attempt, last step shown; `x_count`: stored points
    of the metric that is its x axis."""

    series_id: int
    stored_count: int
    attempt: int
    last_step: int
    x_count: int = 0

    def __str__(self) -> str:
        return _SEPARATOR.join(map(str, self if self.x_count else self[:-1]))

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises `ValueError` for what `str` of a cursor cannot have made."""
        fields = [int(part) for part in text.split(_SEPARATOR)]
        if not _FIELDS - 1 <= len(fields) <= _FIELDS:
            raise ValueError("a cursor has four or five numbers")
        return cls.checked(fields)

    @classmethod
    def checked(cls, fields: Sequence[int]) -> Self:
        """A cursor of these numbers. Raises `ValueError` if one of them cannot be."""
        cursor = cls(*fields)
        if not 0 <= cursor.stored_count < _LARGEST_COUNT:
            raise ValueError("a count is out of range")
        if max(map(abs, fields)) >= 2**63:
            raise ValueError("a number is too large")
        return cursor


def mark_of(parts: Iterable[object]) -> str:
    """A short text that differs if any of the parts does."""
    text = "\0".join(map(str, parts)).encode("utf-8", "surrogatepass")
    return base64.urlsafe_b64encode(
        hashlib.blake2b(text, digest_size=_MARK_BYTES).digest()
    ).decode()


def combine(mark: str, cursors: Iterable[Cursor]) -> str:
    """One text for the cursors of many series. `mark` tells of a state of all they stand for."""
    rows = np.array(list(cursors), dtype="<i8").reshape(-1, _FIELDS)
    # Column by column and byte by byte, so that alike bytes lie side by side.
    packed = zlib.compress(np.ascontiguousarray(rows.T).view(np.uint8).reshape(-1, 8).T.tobytes())
    return f"{_COMBINED}{mark}{base64.urlsafe_b64encode(packed).decode().rstrip('=')}"


def has_mark(text: str, mark: str) -> bool:
    """Whether a combined cursor was made with this mark."""
    return text.startswith(_COMBINED + mark)


def parse_all(texts: Iterable[str], *, most: int) -> dict[int, Cursor]:
    """The cursors in `texts`, single or combined, by series.

    Raises `ValueError` for texts that were not made here, and for more than `most` in one.
    """
    found: dict[int, Cursor] = {}
    for text in texts:
        cursors = _split(text, most) if text.startswith(_COMBINED) else [Cursor.parse(text)]
        found |= {cursor.series_id: cursor for cursor in cursors}
    return found


def _split(text: str, most: int) -> list[Cursor]:
    packed = text[len(_COMBINED) + _MARK_LENGTH :]
    unpacker = zlib.decompressobj()
    try:
        raw = base64.b64decode(packed + "=" * (-len(packed) % 4), altchars=b"-_", validate=True)
        body = unpacker.decompress(raw, most * _FIELDS * 8)
    except zlib.error as error:
        raise ValueError("the cursor is damaged") from error
    if not unpacker.eof or len(body) % (_FIELDS * 8):
        raise ValueError("the cursor is damaged")
    if not body:
        return []
    planes = np.frombuffer(body, np.uint8).reshape(8, -1)
    rows = np.ascontiguousarray(planes.T).view("<i8").reshape(_FIELDS, -1).T
    return [Cursor.checked(row) for row in rows.tolist()]
