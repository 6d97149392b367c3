"""Columns keep every bit of every number."""

import math
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.metrics.columns import Columns, DamagedSeries, pack, unpack

FLOATS = st.floats() | st.integers(0, 2**64 - 1).map(
    lambda bits: struct.unpack("<d", struct.pack("<Q", bits))[0]
)
POINTS = st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), FLOATS, FLOATS), max_size=50)


@given(POINTS)
def test_points_come_back_bit_for_bit(points: list[tuple[int, float, float]]) -> None:
    columns = Columns.of(points)
    back = unpack(pack(columns))

    assert back.steps.tolist() == [step for step, _, _ in points]
    assert back.values.tobytes() == columns.values.tobytes()
    assert back.times.tobytes() == columns.times.tobytes()


def test_a_full_chunk_is_small() -> None:
    columns = Columns.of((i, round(math.sin(i / 9), 4), 1.7e9 + i * 41.5) for i in range(512))

    assert len(pack(columns)) < 512 * 24 / 2


def test_arrays_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match="length"):
        Columns(np.zeros(2, np.int64), np.zeros(3), np.zeros(2))


def test_a_step_beyond_64_bits_is_refused() -> None:
    with pytest.raises(OverflowError):
        Columns.of([(2**63, 0.0, 0.0)])


@pytest.mark.parametrize("payload", [b"", b"nonsense", pack(Columns.of([(1, 2.0, 3.0)]))[:-1]])
def test_damage_is_noticed(payload: bytes) -> None:
    with pytest.raises(DamagedSeries):
        unpack(payload)
