"""Points of series as CSV, every one as it is stored, written as they are read."""

import asyncio
import csv
import io
from collections.abc import AsyncIterator, Iterable, Sequence

import numpy as np

from app.csv_cells import cell
from app.db import Database
from app.metrics import reading
from app.metrics.columns import Columns, Floats
from app.models import Run

_TITLES = ("run", "name", "key", "step", "time", "value")
_ROWS_AT_ONCE = 20_000
_ALL_POINTS = 2**62


async def csv_of(
    database: Database, runs: Sequence[Run], keys: Sequence[str]
) -> AsyncIterator[str]:
    """The file in pieces: titles, then a line a point, run by run and key by key.

    Values have all their digits, or say `NaN`, `Infinity`, `-Infinity`; times are RFC 3339, empty
    where unknown. One series is in memory at a time, and no session is held while it is sent.
    """
    yield _lines([_TITLES])
    for run in runs:
        for key in keys:
            async with database.read() as session:
                loaded = await reading.load_series(session, [run], [key])
            views = await asyncio.to_thread(loaded.views, _ALL_POINTS)
            for view in views:
                columns, place = view.columns, [run.slug, cell(run.name), cell(key)]
                for start in range(0, len(columns), _ROWS_AT_ONCE):
                    some = columns.take(slice(start, start + _ROWS_AT_ONCE))
                    yield await asyncio.to_thread(_points, some, place)


def _points(columns: Columns, place: Sequence[str]) -> str:
    rows = zip(columns.steps.tolist(), _times(columns.times), columns.numbers(), strict=True)
    return _lines([*place, step, at, _value(value)] for step, at, value in rows)


def _times(seconds: Floats) -> list[str]:
    known = np.isfinite(seconds)
    at = (np.where(known, seconds, 0) * 1000).round().astype("datetime64[ms]")
    texts: list[str] = np.where(known, np.datetime_as_string(at, timezone="UTC"), "").tolist()
    return texts


def _value(value: float) -> str:
    text = repr(value)
    return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(text, text)


def _lines(rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue()
