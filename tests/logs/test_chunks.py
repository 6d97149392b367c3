"""Log chunks keep bytes exactly; lines are shown as a terminal would leave them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.logs.chunks import DamagedChunk, display_text, pack, unpack


@given(st.binary(max_size=5_000), st.integers(1, 10**9))
def test_bytes_come_back_exactly(data: bytes, first_line: int) -> None:
    chunk = pack(data, first_line=first_line)

    assert unpack(chunk.payload) == data
    assert (chunk.byte_count, chunk.line_count) == (len(data), data.count(b"\n"))
    assert chunk.first_line == first_line


def test_a_log_shrinks() -> None:
    data = b"2026-11-29 16:12:27.447 | INFO | HTTP Request: GET /metrics 200 OK\n" * 1_000

    assert len(pack(data, first_line=1).payload) < len(data) / 50


@pytest.mark.parametrize("position", [0, -1])
def test_damage_is_noticed(position: int) -> None:
    payload = bytearray(pack(b"some lines\n" * 50, first_line=1).payload)
    payload[position] ^= 0xFF

    with pytest.raises(DamagedChunk):
        unpack(bytes(payload))


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"plain", "plain"),
        (b"\r 1%\r 50%\r100%", "100%"),
        (b" 50%\r", " 50%"),
        (b"line\r\r", "line"),
        (b"\r", ""),
        (b"\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[0m"),
        (b"caf\xc3\xa9 \xff", "café �"),
    ],
)
def test_display_text(raw: bytes, text: str) -> None:
    assert display_text(raw) == text
