"""Series as JSON, the same for pages and for the API; millions of numbers, so by numpy."""

from functools import partial

import numpy as np
import orjson

from app.metrics.axes import AxisKind
from app.metrics.columns import Floats
from app.metrics.views import LoadedSeries, SeriesView

_dumps = partial(
    orjson.dumps, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NAIVE_UTC | orjson.OPT_UTC_Z
)
_KINDS = ("NaN", "Infinity", "-Infinity")


def series_json(
    loaded: LoadedSeries, max_points: int, *, digits: int | None = None, has_times: bool = False
) -> bytes:
    """A `SeriesListAnswer` as it is sent: what is not finite becomes null, and is told in `odd`.

    `digits`: values rounded to so many significant ones. `has_times` adds the column `time`.
    """
    views = list(loaded.iter_views(max_points, has_times=False))
    values: list[Floats] = [view.columns.values for view in views]
    if digits is not None:
        values = _rounded_each(values, digits)
    kind = loaded.look.axis.kind
    series = []
    for view, numbers in zip(views, values, strict=True):
        columns = _columns(view, numbers, is_exact=digits is None)
        series.append(columns | {"time": _times(view, kind)} if has_times else columns)
    return _dumps({"series": series, "cursor": loaded.cursor})


def _columns(view: SeriesView, values: Floats, *, is_exact: bool) -> dict[str, object]:
    columns = view.columns
    has_excess = is_exact and columns.excess is not None
    return {
        "run": view.run,
        "key": view.key,
        "attempt": view.attempt,
        "is_hidden": view.is_hidden,
        "step": _packed(columns.steps),
        "value": columns.numbers() if has_excess else _packed(values),
        "x": None if view.x is None else _packed(view.x),
        "odd": _odd(view),
        "missing": view.missing,
        "resumes": [(each.x, each.attempt) for each in view.resumes if each.x is not None],
        "sampled": view.is_sampled,
        "is_new": view.is_new,
        "cursor": view.cursor,
    }


def _packed(column: np.ndarray[tuple[int], np.dtype[np.generic]]) -> object:
    """A column as the library takes it: without gaps between its numbers."""
    return np.ascontiguousarray(column)


def _odd(view: SeriesView) -> list[tuple[float, str]]:
    """The points whose value is not finite: x, and what it is."""
    values = view.columns.values
    places = np.flatnonzero(~np.isfinite(values))
    if not places.size:
        return []
    x = (view.columns.steps if view.x is None else view.x)[places].tolist()
    found = values[places]
    kinds = np.where(np.isnan(found), 0, np.where(found > 0, 1, 2)).tolist()
    return [(at, _KINDS[kind]) for at, kind in zip(x, kinds, strict=True)]


def _times(view: SeriesView, axis: AxisKind) -> object:
    """As readers by the API know them: RFC 3339 for a time, seconds since the run's start."""
    if view.x is None or axis is AxisKind.METRIC:
        return None
    if axis is AxisKind.RELATIVE:
        return _packed(view.x)
    return (view.x * 1000).round().astype("datetime64[ms]")


def _rounded_each(columns: list[Floats], digits: int) -> list[Floats]:
    """All columns rounded at once: there may be a hundred short ones."""
    if not columns:
        return []
    ends = np.cumsum([column.size for column in columns])[:-1]
    return np.split(_rounded(np.concatenate(columns), digits), ends)


def _rounded(values: Floats, digits: int) -> Floats:
    """To so many significant digits."""
    with np.errstate(all="ignore"):
        size = np.floor(np.log10(np.abs(values)))
        scale = 10.0 ** (digits - 1 - size)
        rounded: Floats = np.round(values * scale) / scale
    return np.where(np.isfinite(rounded), rounded, values)
