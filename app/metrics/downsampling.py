"""Thins a series to what a chart can show, and keeps what a reader must not miss."""

import numpy as np
import numpy.typing as npt

from app.metrics.columns import Floats, Steps

MIN_DOWNSAMPLED_POINTS = 16

Indices = npt.NDArray[np.intp]


def downsample(x: Steps | Floats, values: Floats, *, max_points: int) -> tuple[Indices, bool]:
    """Indices of the points to draw, ascending, and whether any were left out.

    `x` ascending (steps, or places on another axis), `values` of the same shape (n,). MinMaxLTTB
    (J. Van Der Donckt et al. 2023, by tsdownsample) chooses among finite points; the first, the
    last, the extremes and one point of each run of NaN, +inf or -inf are kept, so gaps stay gaps.
    Runs are thinned evenly when they exceed a quarter of `max_points`. Raises `ValueError` if
    `max_points` is below 16.
    """
    if max_points < MIN_DOWNSAMPLED_POINTS:
        raise ValueError(f"max_points must be at least {MIN_DOWNSAMPLED_POINTS}")
    if x.size <= max_points:
        return np.arange(x.size), False
    finite = np.flatnonzero(np.isfinite(values))
    kept = np.concatenate([[0, x.size - 1], _extremes(values, finite)]).astype(np.intp)
    kept = np.union1d(kept, _thin(_run_starts(values), max_points // 4))
    chosen = _min_max_lttb(x, values, finite=finite, count=max_points - kept.size)
    return np.union1d(kept, chosen), True


def _extremes(values: Floats, finite: Indices) -> Indices:
    if finite.size == 0:
        return finite
    return finite[[values[finite].argmin(), values[finite].argmax()]]


def _run_starts(values: Floats) -> Indices:
    """Where a run of one kind of non-finite value begins."""
    kinds = np.where(np.isnan(values), 2, np.where(np.isinf(values), np.sign(values), 0))
    return np.flatnonzero((kinds != 0) & (kinds != np.concatenate([[0], kinds[:-1]])))


def _thin(indices: Indices, count: int) -> Indices:
    if indices.size <= count:
        return indices
    return indices[np.linspace(0, indices.size - 1, count).astype(np.intp)]


def _min_max_lttb(
    places: Steps | Floats, values: Floats, *, finite: Indices, count: int
) -> Indices:
    if finite.size <= count:
        return finite
    # Loaded with the first long series, in a thread.
    from tsdownsample import MinMaxLTTBDownsampler

    # Contiguous copies: the library warns about views.
    x, y = np.ascontiguousarray(places[finite]), np.ascontiguousarray(values[finite])
    sampler = MinMaxLTTBDownsampler()  # type: ignore[no-untyped-call]  # its __init__ has no hints
    chosen: npt.NDArray[np.uint64] = sampler.downsample(x, y, n_out=count)
    return finite[chosen.astype(np.intp)]
