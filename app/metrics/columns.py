"""A few points of a metric as columns, and their compressed form."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
import zstandard

Steps = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_LEVEL = 3
_BYTES_PER_POINT = 3 * 8


class DamagedSeries(ValueError):
    """A stored payload cannot be read back."""


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Points as three arrays of one length, shape (n,).

    `steps` int64; `values` float64, NaN and infinities allowed; `times` float64, Unix seconds,
    NaN where unknown.
    """

    steps: Steps
    values: Floats
    times: Floats

    def __post_init__(self) -> None:
        if not self.steps.shape == self.values.shape == self.times.shape == (self.steps.size,):
            raise ValueError("columns differ in length")

    @classmethod
    def of(cls, points: Iterable[tuple[int, float, float]]) -> Self:
        """Columns of (step, value, time) triples. Raises `OverflowError` past 64-bit steps."""
        rows = list(points)
        return cls(
            np.array([row[0] for row in rows], dtype=np.int64),
            np.array([row[1] for row in rows], dtype=np.float64),
            np.array([row[2] for row in rows], dtype=np.float64),
        )

    def __len__(self) -> int:
        return int(self.steps.size)

    def take(self, index: slice | npt.NDArray[np.intp] | npt.NDArray[np.bool_]) -> Self:
        return type(self)(self.steps[index], self.values[index], self.times[index])

    def then(self, later: Self) -> Self:
        return type(self).concatenate([self, later])

    @classmethod
    def concatenate(cls, parts: Iterable[Self]) -> Self:
        """All points of `parts`, in their order; no parts give no points."""
        columns = list(parts)
        return cls(
            np.concatenate([np.empty(0, np.int64), *(part.steps for part in columns)]),
            np.concatenate([np.empty(0, np.float64), *(part.values for part in columns)]),
            np.concatenate([np.empty(0, np.float64), *(part.times for part in columns)]),
        )


def pack(columns: Columns) -> bytes:
    """Compress columns: little-endian steps (as differences), values, times, in one zstd frame.

    Every value keeps its bits, NaN payloads too. Differences wrap around, so all int64 are exact.
    """
    deltas = np.diff(columns.steps, prepend=np.int64(0))
    raw = b"".join(
        column.astype(dtype).tobytes()
        for column, dtype in ((deltas, "<i8"), (columns.values, "<f8"), (columns.times, "<f8"))
    )
    compressor = zstandard.ZstdCompressor(
        level=_LEVEL, write_content_size=True, write_checksum=True
    )
    return compressor.compress(raw)


def unpack(payload: bytes) -> Columns:
    """The columns of `pack`. Raises `DamagedSeries`."""
    try:
        raw = zstandard.ZstdDecompressor().decompress(payload)
    except zstandard.ZstdError as error:
        raise DamagedSeries(f"The stored points cannot be read: {error}") from error
    count, rest = divmod(len(raw), _BYTES_PER_POINT)
    if rest:
        raise DamagedSeries(f"The stored points have {rest} bytes too many.")
    deltas = np.frombuffer(raw, "<i8", count)
    values = np.frombuffer(raw, "<f8", count, offset=8 * count)
    times = np.frombuffer(raw, "<f8", count, offset=16 * count)
    return Columns(
        np.cumsum(deltas, dtype=np.int64), values.astype(np.float64), times.astype(np.float64)
    )
