"""The table of runs as CSV, written as it is read."""

import csv
import io
from collections.abc import AsyncIterator, Iterable, Sequence

from app.runs.sorting import Sort
from app.runs.table import Cell, TableRow

_COLUMNS = (
    "id",
    "name",
    "experiment",
    "cluster",
    "status",
    "owner",
    "tags",
    "created_at",
    "started_at",
    "ended_at",
    "step",
)
# A spreadsheet takes a cell that begins with one of these for a formula, and runs it (OWASP,
# "CSV Injection"). An apostrophe in front makes it text.
_FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r")


async def csv_of(
    batches: AsyncIterator[Sequence[TableRow]], columns: Sequence[Sort]
) -> AsyncIterator[str]:
    """The file in pieces: titles, then a line a run. Numbers are written with all their digits."""
    yield _lines([[*_COLUMNS, *(_cell(str(column)) for column in columns)]])
    async for rows in batches:
        yield _lines([*map(_cell, _fields(row)), *map(_cell, row.cells)] for row in rows)


def _fields(row: TableRow) -> list[Cell]:
    run = row.run
    times = (run.created_at, run.started_at, run.ended_at)
    return [
        run.slug,
        run.name,
        run.experiment.name,
        run.cluster.name if run.cluster else "",
        run.status.value,
        run.owner,
        ", ".join(run.tags),
        *(at.isoformat() if at else None for at in times),
        run.step if run.pushed_step is None else run.pushed_step,
    ]


def _cell(value: Cell) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        return repr(value)
    return "'" + value if value.startswith(_FORMULA_SIGNS) else value


def _lines(rows: Iterable[Sequence[str]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue()
