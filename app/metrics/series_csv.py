"""The points of charts as CSV, a line a point, with all digits and none left out."""

import csv
import io
from collections.abc import AsyncIterator, Iterator, Sequence

import numpy as np

from app.csv_cells import cell
from app.db import Database
from app.metrics.columns import Floats
from app.metrics.reading import load_series
from app.metrics.views import Look, SeriesRun, SeriesView

COLUMNS = ("run", "key", "attempt", "is_hidden", "step", "time", "x", "value")
_ALL = 2**31
_RUNS_AT_ONCE = 10
_LINES_AT_ONCE = 10_000
_ODD = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


async def csv_of(
    database: Database, runs: Sequence[SeriesRun], keys: Sequence[str], look: Look
) -> AsyncIterator[str]:
    """The file in pieces. A few runs are read at a time; no session is held while it is sent."""
    yield _text([COLUMNS])
    for start in range(0, len(runs), _RUNS_AT_ONCE):
        some = runs[start : start + _RUNS_AT_ONCE]
        async with database.read() as session:
            loaded = await load_series(session, some, keys, look=look)
        for view in loaded.iter_views(_ALL):
            for piece in lines_of(view):
                yield piece


def lines_of(view: SeriesView) -> Iterator[str]:
    """One series in pieces. `x` is empty where it is the step."""
    run, key = cell(view.run), cell(view.key)
    attempts, numbers = view.attempts.tolist(), view.columns.numbers()
    steps, times = view.columns.steps.tolist(), _times(view.columns.times)
    places: Sequence[object] = [""] * len(steps) if view.x is None else view.x.tolist()
    for start in range(0, len(steps), _LINES_AT_ONCE):
        part = slice(start, start + _LINES_AT_ONCE)
        columns = (attempts[part], steps[part], times[part], places[part], numbers[part])
        yield _text(
            (run, key, attempt, int(view.is_hidden), step, at, x, _ODD.get(str(value), value))
            for attempt, step, at, x, value in zip(*columns, strict=True)
        )


def _times(times: Floats) -> list[str]:
    """RFC 3339 in UTC, to the millisecond; empty where unknown."""
    known = np.isfinite(times)
    rounded = (np.where(known, times, 0.0) * 1000).round().astype("datetime64[ms]")
    texts = np.datetime_as_string(rounded, timezone="UTC")
    return np.where(known, texts, "").tolist()  # type: ignore[no-any-return]  # of strings


def _text(rows: Iterator[Sequence[object]] | Sequence[Sequence[object]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue()
