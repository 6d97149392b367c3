"""JSON shapes of metrics: summaries, series, and answers to pushes."""

import math
from datetime import UTC, datetime

import numpy as np
import orjson
from pydantic import Field

from app.api.schemas import Answer
from app.metrics.columns import Floats
from app.metrics.service import LoadedSeries, SeriesView
from app.models import MetricSeries


class MetricAnswer(Answer):
    key: str = Field(examples=["eval/all/pass_at_1"])
    last: float | None
    best: float | None
    min: float | None
    max: float | None
    last_step: int | None
    best_step: int | None
    count: int
    non_finite: int

    @classmethod
    def of(cls, series: MetricSeries) -> "MetricAnswer":
        return cls.model_validate(series)


class SeriesAnswer(Answer):
    """Columns of one series, sorted by step. A value that is not finite is null.

    A whole number of 64 bits is exact.

    `time` holds times (RFC 3339) for x=time, seconds since the start for x=relative, else null.
    `is_new`: only points after the cursor that was given, to be appended to those.
    """

    run: str
    key: str
    attempt: int
    step: list[int]
    value: list[float | None]
    time: list[str | None] | list[float | None] | None = None
    sampled: bool
    is_new: bool
    cursor: str


class SeriesListAnswer(Answer):
    series: list[SeriesAnswer]


def series_json(loaded: LoadedSeries, max_points: int, digits: int | None) -> bytes:
    """A `SeriesListAnswer` as it is sent: what is not finite becomes null on the way."""
    views = loaded.views(max_points)
    return orjson.dumps({"series": [_series(view, loaded.x, digits) for view in views]})


def _series(view: SeriesView, x: str, digits: int | None) -> dict[str, object]:
    columns = view.columns
    values = columns.numbers() if digits is None else _rounded(columns.values, digits).tolist()
    return {
        "run": view.run,
        "key": view.key,
        "attempt": view.attempt,
        "step": columns.steps.tolist(),
        "value": values,
        "time": _times(columns.times, x),
        "sampled": view.is_sampled,
        "is_new": view.is_new,
        "cursor": view.cursor,
    }


def _rounded(values: Floats, digits: int) -> Floats:
    """To so many significant digits."""
    with np.errstate(all="ignore"):
        size = np.floor(np.log10(np.abs(values)))
        scale = 10.0 ** (digits - 1 - size)
        rounded: Floats = np.round(values * scale) / scale
    return np.where(np.isfinite(rounded), rounded, values)


class AcceptedAnswer(Answer):
    accepted: int = Field(description="How many points were stored", examples=[120])


def _times(times: Floats, x: str) -> list[str | None] | list[float | None] | None:
    if x == "step":
        return None
    if x == "relative":
        return _finite(times)
    return [None if seconds is None else _text(seconds) for seconds in _finite(times)]


def _text(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


def _finite(values: Floats) -> list[float | None]:
    return [value if math.isfinite(value) else None for value in values.tolist()]
