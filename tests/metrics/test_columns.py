"""Columns keep every bit of every number."""

import math
import struct

import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from app.metrics.columns import Columns, DamagedSeries, pack, to_milliseconds, unpack

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


def test_whole_numbers_of_64_bits_are_exact() -> None:
    numbers = [2**53 + 1, 2**63 - 1, -(2**63), 2**64 - 1, 7, 0.5, math.inf]
    columns = unpack(pack(Columns.of((i, number, 0.0) for i, number in enumerate(numbers))))

    assert columns.numbers() == numbers
    assert math.isnan(
        unpack(pack(Columns.of([(1, math.nan, 0.0), (2, 2**60 + 1, 0)]))).numbers()[0]
    )
    assert columns.take(np.array([1, 4])).numbers() == [2**63 - 1, 7]
    assert columns.then(Columns.of([(9, 1.0, 0.0)])).numbers()[:2] == [2**53 + 1, 2**63 - 1]


def test_whole_numbers_beyond_are_the_nearest_float() -> None:
    assert Columns.of([(1, 10**60 + 1, 0.0)]).numbers() == [1e60]


def test_what_was_written_before_is_still_read() -> None:
    deltas, values, times = np.array([3, 2, 0]), np.array([0.5, 1.0, 2.0]), np.array([7.0, 8, 9])
    raw = deltas.astype("<i8").tobytes() + values.tobytes() + times.tobytes()
    columns = unpack(zstandard.ZstdCompressor().compress(raw))

    assert columns.steps.tolist() == [3, 5, 5]
    assert columns.values.tolist() == [0.5, 1.0, 2.0]
    assert columns.times.tolist() == [7.0, 8.0, 9.0]


def test_ten_bytes_a_point_of_noise() -> None:
    noise = np.random.default_rng(1)
    times = 1.76e9 + np.cumsum(noise.uniform(0.01, 2.0, 512))
    columns = Columns(np.arange(512), noise.normal(size=512), to_milliseconds(times))

    assert len(pack(columns)) < 512 * 10
