"""Thins a series to what a chart can show, and keeps what a reader must not miss."""

from functools import cache
from typing import Any

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
    is_kept = np.zeros(x.size, dtype=np.bool_)
    is_kept[[0, -1]] = True
    is_finite = np.isfinite(values)
    if is_finite.all():
        _keep(is_kept, x, values, max_points)
    else:
        finite = np.flatnonzero(is_finite)
        is_kept[_thin(_run_starts(values), max_points // 4)] = True
        chosen = is_kept[finite]
        _keep(chosen, x[finite], values[finite], max_points - int(is_kept.sum() - chosen.sum()))
        is_kept[finite] = chosen
    return np.flatnonzero(is_kept), True


def _keep(
    is_kept: npt.NDArray[np.bool_], x: Steps | Floats, values: Floats, max_points: int
) -> None:
    """Marks finite points: the extremes, and as many as `max_points` leave room for."""
    if values.size:
        is_kept[[values.argmin(), values.argmax()]] = True
    room = max_points - int(np.count_nonzero(is_kept))
    if values.size <= room:
        is_kept[:] = True
    else:
        is_kept[_min_max_lttb(x, values, room)] = True


def _run_starts(values: Floats) -> Indices:
    """Where a run of one kind of non-finite value begins."""
    kinds = np.where(np.isnan(values), 2, np.where(np.isinf(values), np.sign(values), 0))
    return np.flatnonzero((kinds != 0) & (kinds != np.concatenate([[0], kinds[:-1]])))


def _thin(indices: Indices, count: int) -> Indices:
    if indices.size <= count:
        return indices
    return indices[np.linspace(0, indices.size - 1, count).astype(np.intp)]


def _min_max_lttb(x: Steps | Floats, values: Floats, count: int) -> Indices:
    # Contiguous copies: the library warns about views.
    chosen: npt.NDArray[np.uint64] = _sampler().downsample(
        np.ascontiguousarray(x), np.ascontiguousarray(values), n_out=count
    )
    return chosen.astype(np.intp)


@cache
def _sampler() -> Any:
    # Loaded with the first long series, in a thread.
    from tsdownsample import MinMaxLTTBDownsampler

    sampler = MinMaxLTTBDownsampler()  # type: ignore[no-untyped-call]  # its __init__ has no hints
    # It matches the names of types with patterns at each call, longer than it takes to thin.
    sampler.x_dtype_regex_list = sampler.y_dtype_regex_list = None
    return sampler
