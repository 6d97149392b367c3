"""The table of runs beyond its fixed columns: chosen metrics and config keys, groups, names."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app.db import Database
from app.errors import Invalid, Problem
from app.paging import Page
from app.runs import table_repository
from app.runs.filter_sql import find_keys
from app.runs.listing import Wanted, condition_of, list_shown
from app.runs.shown import ShownRun
from app.runs.sorting import Sort, parse_sort
from app.runs.table_repository import Aggregate, Group

MAX_COLUMNS = 50
MAX_GROUPS = 200
MAX_NAMES = 50
GROUPS = ("status", "experiment", "owner", "cluster", "project")
_CSV_PAGE = 500

Cell = float | int | str | None


@dataclass(frozen=True, slots=True)
class TableRow:
    """A run and the values of the chosen columns."""

    run: ShownRun
    cells: Sequence[Cell]


@dataclass(frozen=True, slots=True)
class Names:
    """Keys that hold the words searched for; `has_more`: not all of them."""

    metrics: Sequence[str]
    configs: Sequence[str]
    has_more: bool


def parse_columns(texts: Sequence[str]) -> list[Sort]:
    """Chosen columns, written as orders are: `metric:<key>:<statistic>`, `config:<key>`.

    Raises `Invalid` for others and beyond `MAX_COLUMNS`.
    """
    found = [replace(parse_sort(text), is_descending=False) for text in dict.fromkeys(texts)]
    if len(found) > MAX_COLUMNS or any(column.kind == "column" for column in found):
        message = f"choose at most {MAX_COLUMNS} columns, metric:<key>:<statistic> or config:<key>"
        raise Invalid(message, [Problem("column", "choices", message)])
    return found


async def list_rows(
    session: AsyncSession,
    wanted: Wanted,
    columns: Sequence[Sort],
    *,
    limit: int,
    cursor: str | None = None,
) -> Page[TableRow]:
    """A page of the table, in at most five queries. Raises as `list_places` does."""
    page = await list_shown(session, wanted, limit=limit, cursor=cursor)
    cells = await _cells(session, [run.id for _, run in page.items], columns)
    rows = [TableRow(run, cells.get(run.id, ())) for _, run in page.items]
    return Page(rows, page.next_cursor)


async def iter_rows(
    database: Database, wanted: Wanted, columns: Sequence[Sort]
) -> AsyncIterator[Sequence[TableRow]]:
    """All rows in batches, each read in a session of its own."""
    cursor: str | None = None
    while True:
        async with database.read() as session:
            page = await list_rows(session, wanted, columns, limit=_CSV_PAGE, cursor=cursor)
        yield page.items
        cursor = page.next_cursor
        if cursor is None:
            return


async def group(
    session: AsyncSession, wanted: Wanted, by: str, columns: Sequence[Sort]
) -> list[Group]:
    """Groups of the runs wanted, the largest first, each with mean, least and most of the columns.

    `by` is one of `GROUPS` or `config:<key>`. At most `MAX_GROUPS`. Raises `Invalid`.
    """
    metrics = [column.name for column in columns if column.kind == "metric"]
    configs = [column.name for column in columns if column.kind == "config"]
    is_config = by.startswith("config:") and len(by) > len("config:")
    if not is_config and by not in GROUPS:
        message = f"group by {', '.join(GROUPS)} or config:<key>"
        raise Invalid(message, [Problem("group", "choices", message)])
    if is_config:
        configs.append(by.partition(":")[2])
    keys = await find_keys(session, metrics, configs)
    condition = await condition_of(session, wanted)
    return await table_repository.group(
        session, condition, by, columns, keys=keys, limit=MAX_GROUPS
    )


async def search_names(
    session: AsyncSession, words: str, *, projects: frozenset[UUID] | None
) -> Names:
    """Keys of metrics and configs of runs in `projects` that hold the words, by name."""
    limit = MAX_NAMES + 1
    metrics = await table_repository.search_metrics(session, words, projects, limit)
    configs = await table_repository.search_configs(session, words, projects, limit)
    has_more = len(metrics) > MAX_NAMES or len(configs) > MAX_NAMES
    return Names(metrics[:MAX_NAMES], configs[:MAX_NAMES], has_more)


async def _cells(
    session: AsyncSession, ids: Sequence[UUID], columns: Sequence[Sort]
) -> dict[UUID, list[Cell]]:
    if not columns or not ids:
        return {}
    cells: dict[UUID, list[Cell]] = {run_id: [None] * len(columns) for run_id in ids}
    keys = await find_keys(
        session,
        [column.name for column in columns if column.kind == "metric"],
        [column.name for column in columns if column.kind == "config"],
    )
    values: dict[tuple[UUID, str, str], Any] = {}
    if keys.metrics:
        values |= await table_repository.metric_values(session, ids, columns, keys.metrics)
    if keys.configs:
        values |= await table_repository.config_values(session, ids, keys.configs)
    for run_id, row in cells.items():
        for place, column in enumerate(columns):
            row[place] = values.get((run_id, column.name, column.statistic))
    return cells


__all__ = ["Aggregate", "Group", "Names", "TableRow", "group", "list_rows", "search_names"]
