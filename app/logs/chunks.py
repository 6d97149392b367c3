"""Stores a log as compressed chunks of its exact bytes, and says how a line of it is shown.

A chunk may begin and end in the middle of a line. `first_line` is the number, from 1, of the line
that holds its first byte, and `line_count` its number of line feeds; so the next chunk's
`first_line` is `first_line + line_count`, and the text of line n lies in the chunks with
`first_line <= n <= first_line + line_count`.
"""

from dataclasses import dataclass

import zstandard

_LEVEL = 3


class DamagedChunk(ValueError):
    """A stored payload cannot be read back."""


@dataclass(frozen=True, slots=True)
class LogChunk:
    """`payload`: one zstandard frame with size and checksum; `byte_count`: what it holds."""

    payload: bytes
    byte_count: int
    line_count: int
    first_line: int


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line to show: `number` from 1, `text` with colours and without its end."""

    number: int
    text: str


def pack(data: bytes, *, first_line: int) -> LogChunk:
    """Compress the bytes of a log that begin in line `first_line`."""
    compressor = zstandard.ZstdCompressor(
        level=_LEVEL, write_content_size=True, write_checksum=True
    )
    return LogChunk(
        payload=compressor.compress(data),
        byte_count=len(data),
        line_count=data.count(b"\n"),
        first_line=first_line,
    )


def unpack(payload: bytes) -> bytes:
    """The exact bytes of a chunk. Raises `DamagedChunk`."""
    try:
        return zstandard.ZstdDecompressor().decompress(payload)
    except zstandard.ZstdError as error:
        raise DamagedChunk(f"The stored log chunk cannot be read: {error}") from error


def display_text(raw: bytes) -> str:
    """What a terminal would leave of a line: the text after the last CR that has any after it.

    Invalid UTF-8 is replaced; colours stay (see `app.logs.ansi`).
    """
    if b"\r" in raw:
        raw = next((part for part in reversed(raw.split(b"\r")) if part), b"")
    return raw.decode("utf-8", "replace")
