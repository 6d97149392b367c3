"""A few points of a metric as columns, and their compressed form."""

import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
import zstandard

Steps = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_LEVEL = 3
_FIRST_FORMAT = b"\x28\xb5\x2f\xfd"  # a bare zstd frame begins so
_SECOND_FORMAT = 2
_HAS_EXCESS, _HAS_MILLISECONDS = 1, 2
_HEAD_BYTES = 6
# Shorter payloads are not worth a frame of their own.
_COMPRESSED_FROM = 64
_COMPRESSED = 4
_BYTES_PER_POINT = 3 * 8
_EXACT = 2**53
_of_thread = threading.local()


class DamagedSeries(ValueError):
    """A stored payload cannot be read back."""


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Points as arrays of one length, shape (n,).

    `steps` int64; `values` float64, NaN and infinities allowed; `times` float64, Unix seconds,
    NaN where unknown. `excess` int64, None for all zeros: what a value has beyond its float64, so
    that whole numbers past 2^53 come back exactly as `int(value) + excess`.
    """

    steps: Steps
    values: Floats
    times: Floats
    excess: Steps | None = None

    def __post_init__(self) -> None:
        if not self.steps.shape == self.values.shape == self.times.shape == (self.steps.size,):
            raise ValueError("columns differ in length")

    @classmethod
    def of(cls, points: Iterable[tuple[int, float, float]]) -> Self:
        """Columns of (step, value, time) triples. Raises `OverflowError` past 64-bit steps."""
        rows = list(points)
        values, excess = exact_values([row[1] for row in rows])
        return cls(
            np.array([row[0] for row in rows], dtype=np.int64),
            values,
            np.array([row[2] for row in rows], dtype=np.float64),
            excess,
        )

    def __len__(self) -> int:
        return int(self.steps.size)

    def numbers(self) -> list[float]:
        """The values; whole numbers that float64 cannot hold as `int`."""
        found: list[float] = self.values.tolist()
        if self.excess is not None:
            for place in np.flatnonzero(self.excess).tolist():
                found[place] = int(found[place]) + int(self.excess[place])
        return found

    def take(self, index: slice | npt.NDArray[np.intp] | npt.NDArray[np.bool_]) -> Self:
        excess = None if self.excess is None else self.excess[index]
        return type(self)(self.steps[index], self.values[index], self.times[index], excess)

    def then(self, later: Self) -> Self:
        return type(self).concatenate([self, later])

    @classmethod
    def concatenate(cls, parts: Iterable[Self]) -> Self:
        """All points of `parts`, in their order; no parts give no points."""
        columns = list(parts)
        if not columns:
            return cls(np.empty(0, np.int64), np.empty(0), np.empty(0))
        if len(columns) == 1:
            return columns[0]
        excess = None
        if any(part.excess is not None for part in columns):
            excess = np.concatenate([part.whole_excess() for part in columns])
        return cls(
            np.concatenate([part.steps for part in columns]),
            np.concatenate([part.values for part in columns]),
            np.concatenate([part.times for part in columns]),
            excess,
        )

    def whole_excess(self) -> Steps:
        return np.zeros(len(self), np.int64) if self.excess is None else self.excess


def exact_values(numbers: Sequence[float]) -> tuple[Floats, Steps | None]:
    """Numbers as float64, and as the excess of those that float64 cannot hold.

    Raises `OverflowError` for whole numbers beyond the largest float64. Beyond some 2^115 they
    are kept as the nearest float64.
    """
    values = np.array(numbers, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        large = np.flatnonzero(np.abs(values) >= _EXACT)
    if not large.size:
        return values, None
    excess = np.zeros(values.size, np.int64)
    for place in large.tolist():
        number = numbers[place]
        if isinstance(number, int):
            rest = number - int(values[place])
            excess[place] = rest if -(2**63) <= rest < 2**63 else 0
    return values, excess if excess.any() else None


def to_milliseconds(times: Floats) -> Floats:
    """Times rounded as they are kept: to the millisecond, as MLflow's clients send them."""
    return np.round(times, 3)


def pack(columns: Columns) -> bytes:
    """Compress columns; every step and value keeps its bits, NaN payloads too.

    A head of six bytes (format 2, flags, count) and a body, in a zstd frame unless it is short:
    steps as wrapped differences, values, times as differences of milliseconds where that loses
    nothing, excess where there is any. Each column lies byte by byte (all first bytes, all second
    bytes, …), which is what lets the alike bytes of floats be found.
    """
    flags, excess = 0, columns.excess
    milliseconds = _milliseconds(columns.times)
    if milliseconds is not None:
        flags |= _HAS_MILLISECONDS
    if excess is not None and excess.any():
        flags |= _HAS_EXCESS
    words = np.empty((3 + bool(flags & _HAS_EXCESS), len(columns)), "<i8")
    _differences(columns.steps, words[0])
    words[1] = columns.values.view(np.int64)
    if milliseconds is None:
        words[2] = columns.times.view(np.int64)
    else:
        _differences(milliseconds, words[2])
    if flags & _HAS_EXCESS:
        words[3] = excess
    body = words.view(np.uint8).reshape(len(words), -1, 8).transpose(0, 2, 1).tobytes()
    if len(body) >= _COMPRESSED_FROM:
        flags |= _COMPRESSED
        body = _compressor().compress(body)
    return bytes((_SECOND_FORMAT, flags)) + len(columns).to_bytes(4, "little") + body


def unpack_many(payloads: Sequence[bytes], *, has_times: bool = True) -> list[Columns]:
    """As `unpack`, for many at once: those of one length and kind are taken apart together.

    Without `has_times` all times are NaN, which saves a third of the work.
    """
    found: list[Columns | None] = [None] * len(payloads)
    alike: dict[bytes, list[int]] = {}
    for place, payload in enumerate(payloads):
        alike.setdefault(payload[:_HEAD_BYTES], []).append(place)
    decompressor = zstandard.ZstdDecompressor()
    for head, places in alike.items():
        if len(head) < _HEAD_BYTES or head[0] != _SECOND_FORMAT:
            for place in places:
                found[place] = unpack(payloads[place])
            continue
        bodies = [payloads[place][_HEAD_BYTES:] for place in places]
        if head[1] & _COMPRESSED:
            bodies = [_decompressed(body, decompressor) for body in bodies]
        columns = _alike(bodies, head[1], int.from_bytes(head[2:], "little"), has_times)
        for place, each in zip(places, columns, strict=True):
            found[place] = each
    return [each for each in found if each is not None]


def unpack(payload: bytes) -> Columns:
    """The columns of `pack`. Raises `DamagedSeries`."""
    if payload.startswith(_FIRST_FORMAT):
        return _unpack_first(payload)
    if len(payload) < _HEAD_BYTES or payload[0] != _SECOND_FORMAT:
        raise DamagedSeries("The stored points are in a format that this version does not know.")
    return unpack_many([payload])[0]


def _alike(bodies: Sequence[bytes], flags: int, count: int, has_times: bool) -> Iterator[Columns]:
    """The columns of bodies that all have these flags and so many points."""
    width = 3 + bool(flags & _HAS_EXCESS)
    for body in bodies:
        if len(body) != 8 * width * count:
            wanted = 8 * width * count
            raise DamagedSeries(f"The stored points have {len(body)} bytes, not {wanted}.")
    planes = np.frombuffer(b"".join(bodies), np.uint8).reshape(len(bodies), width, 8, count)

    def words(column: int) -> npt.NDArray[np.int64]:
        taken = np.empty((len(bodies), count, 8), np.uint8)
        # Twice as fast as one transposed copy.
        for byte in range(8):
            taken[:, :, byte] = planes[:, column, byte]
        return taken.reshape(len(bodies), 8 * count).view("<i8")

    steps, values = np.cumsum(words(0), axis=1, dtype=np.int64), words(1).view("<f8")
    if not has_times:
        times = np.broadcast_to(np.full(count, np.nan), values.shape)
    elif flags & _HAS_MILLISECONDS:
        times = np.cumsum(words(2), axis=1, dtype=np.int64) / 1000
    else:
        times = words(2).view("<f8")
    excess = words(3) if flags & _HAS_EXCESS else None
    for row in range(len(bodies)):
        yield Columns(steps[row], values[row], times[row], None if excess is None else excess[row])


def _differences(column: Steps, target: Steps) -> None:
    """The first number and the wrapped steps to each next one, as `np.diff` with a prepended 0."""
    target[:1] = column[:1]
    np.subtract(column[1:], column[:-1], out=target[1:])


def _milliseconds(times: Floats) -> Steps | None:
    """None where a time is unknown or finer than a millisecond."""
    with np.errstate(all="ignore"):
        rounded = np.rint(times * 1000)
        if not np.abs(rounded).max(initial=0) < _EXACT:
            return None
    whole = rounded.astype(np.int64)
    # Bit for bit: a whole number has no -0.
    return whole if (whole / 1000).tobytes() == times.tobytes() else None


def _unpack_first(payload: bytes) -> Columns:
    """As it was written before: steps, values and times whole, in one zstd frame."""
    raw = _decompressed(payload)
    count, rest = divmod(len(raw), _BYTES_PER_POINT)
    if rest:
        raise DamagedSeries(f"The stored points have {rest} bytes too many.")
    deltas = np.frombuffer(raw, "<i8", count)
    values = np.frombuffer(raw, "<f8", count, offset=8 * count)
    times = np.frombuffer(raw, "<f8", count, offset=16 * count)
    return Columns(
        np.cumsum(deltas, dtype=np.int64), values.astype(np.float64), times.astype(np.float64)
    )


def _compressor() -> zstandard.ZstdCompressor:
    """One a thread: it serves one caller at a time, and costs more to make than a chunk to pack."""
    if not hasattr(_of_thread, "compressor"):
        _of_thread.compressor = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True)
    made: zstandard.ZstdCompressor = _of_thread.compressor
    return made


def _decompressed(frame: bytes, decompressor: zstandard.ZstdDecompressor | None = None) -> bytes:
    try:
        return (decompressor or zstandard.ZstdDecompressor()).decompress(frame)
    except zstandard.ZstdError as error:
        raise DamagedSeries(f"The stored points cannot be read: {error}") from error
