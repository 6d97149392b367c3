"""PNG files of mazes, 8-bit RGB.

`encode_kinds` writes the file itself, because Pillow needs a millisecond for a picture of which a
move changes one or two rows of cells. Each row of cells is one independent piece of the deflate
stream, so pieces are cached and joined. Formats: PNG (RFC 2083), zlib (RFC 1950), deflate
(RFC 1951).
"""

import io
import zlib
from functools import lru_cache
from struct import pack
from typing import NamedTuple

import numpy as np

from app.maze.sprites import CELL_PIXELS, Frame, Kinds, draw

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_ZLIB_HEADER = b"\x78\x01"
_EMPTY_FINAL_BLOCK = b"\x03\x00"
_FILTER_SUB, _FILTER_UP = 1, 2
_RGB = 2
_ADLER_BASE = 65521


def encode_png(frame: Frame) -> bytes:
    """Any `frame` as an RGB PNG file at its own size."""
    # Imported late: the pictures of mazes do without, and so the web process is smaller.
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(frame).save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()


def encode_kinds(kinds: Kinds) -> bytes:
    """The picture `draw(kinds)` as an RGB PNG file. Same input, same bytes."""
    height, width = kinds.shape
    pieces = [_piece(row.tobytes()) for row in kinds]
    checksum = pieces[0].adler
    for piece in pieces[1:]:
        checksum = _joined_adler(checksum, piece.adler, length=piece.length)
    size = pack(">II5B", width * CELL_PIXELS, height * CELL_PIXELS, 8, _RGB, 0, 0, 0)
    body = b"".join(piece.deflated for piece in pieces)
    data = _ZLIB_HEADER + body + _EMPTY_FINAL_BLOCK + pack(">I", checksum)
    return _SIGNATURE + _chunk(b"IHDR", size) + _chunk(b"IDAT", data) + _chunk(b"IEND", b"")


class _Piece(NamedTuple):
    """The scan lines of one row of cells, compressed up to a byte boundary."""

    deflated: bytes
    adler: int
    length: int


@lru_cache(maxsize=4096)
def _piece(kinds: bytes) -> _Piece:
    lines = draw(np.frombuffer(kinds, np.uint8)[None]).reshape(CELL_PIXELS, -1)
    filtered = np.empty((CELL_PIXELS, lines.shape[1] + 1), np.uint8)
    # The first line must not look at the line above: that belongs to another piece.
    filtered[0, 0], filtered[1:, 0] = _FILTER_SUB, _FILTER_UP
    filtered[0, 1:4] = lines[0, :3]
    filtered[0, 4:] = lines[0, 3:] - lines[0, :-3]
    filtered[1:, 1:] = lines[1:] - lines[:-1]
    raw = filtered.tobytes()
    # A full flush forgets the window, so that any piece may come before this one.
    deflate = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    deflated = deflate.compress(raw) + deflate.flush(zlib.Z_FULL_FLUSH)
    return _Piece(deflated, zlib.adler32(raw), len(raw))


def _joined_adler(first: int, second: int, *, length: int) -> int:
    """Adler-32 of two strings joined, from theirs and the second one's length."""
    low = (first & 0xFFFF) + (second & 0xFFFF) - 1
    high = (first >> 16) + (second >> 16) + length * ((first & 0xFFFF) - 1)
    return (high % _ADLER_BASE) << 16 | low % _ADLER_BASE


def _chunk(kind: bytes, data: bytes) -> bytes:
    return pack(">I", len(data)) + kind + data + pack(">I", zlib.crc32(kind + data))
