"""Lists of runs: narrowed, filtered, in any order, a page at a time."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

from sqlalchemy import ColumnElement
from sqlalchemy.ext.asyncio import AsyncSession

from app.clock import utcnow
from app.models import Experiment, RunStatus
from app.paging import Page, page_of
from app.runs import filter_sql, order_sql, repository
from app.runs.filter_language import Node, parse
from app.runs.filter_sql import Keys, find_keys, keys_in
from app.runs.order_sql import Place
from app.runs.shown import ShownRun
from app.runs.sorting import Sort, cursor_of, parse_sort, place_of

NEWEST = "-created_at"
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which runs, in which order. `projects` None: of all. `sweep` is a sweep's slug.

    `filter` is of the filter language. `is_archived` and `is_pinned` None: either.
    """

    projects: frozenset[UUID] | None
    sort: str = NEWEST
    filter: str = ""
    experiment: Experiment | None = None
    sweep: str = ""
    text: str = ""
    statuses: Sequence[RunStatus] = ()
    is_archived: bool | None = None
    is_pinned: bool | None = None


async def list_places(
    session: AsyncSession, wanted: Wanted, *, limit: int, cursor: str | None = None
) -> Page[Place]:
    """The runs of a page by their ids; those without a value of the order come last.

    Raises `Invalid` for the filter, the order and the cursor.
    """
    found = await _listed(order_sql.list_places, session, wanted, limit, cursor)
    return page_of(found, limit, _cursor)


async def list_shown(
    session: AsyncSession, wanted: Wanted, *, limit: int, cursor: str | None = None
) -> Page[tuple[Place, ShownRun]]:
    """As `list_places`, with what a table shows of each run."""
    found = await _listed(order_sql.list_shown, session, wanted, limit, cursor)
    return page_of(found, limit, lambda row: _cursor(row[0]))


async def _listed(
    read: Callable[..., Awaitable[list[T]]],
    session: AsyncSession,
    wanted: Wanted,
    limit: int,
    cursor: str | None,
) -> list[T]:
    order = parse_sort(wanted.sort)
    after = place_of(cursor, order) if cursor else None
    node = parse(wanted.filter)
    keys = await _keys(session, node, order)
    condition = await _condition(session, wanted, node, keys)
    return await read(session, condition, order, keys, after=after, limit=limit + 1)


def _cursor(place: Place) -> list[Any]:
    return cursor_of(place.walk, place.value, place.tie)


async def condition_of(session: AsyncSession, wanted: Wanted) -> ColumnElement[bool]:
    """Whether a run is wanted. Raises `Invalid` for the filter."""
    node = parse(wanted.filter)
    return await _condition(session, wanted, node, await _keys(session, node, None))


async def _condition(
    session: AsyncSession, wanted: Wanted, node: Node | None, keys: Keys
) -> ColumnElement[bool]:
    narrowed = repository.shown(
        projects=wanted.projects,
        experiment_id=wanted.experiment.id if wanted.experiment else None,
        sweep=wanted.sweep,
        text=wanted.text.strip(),
        statuses=wanted.statuses,
        is_archived=wanted.is_archived,
        is_pinned=wanted.is_pinned,
    )
    return narrowed & await filter_sql.where(session, node, keys, now=utcnow())


async def _keys(session: AsyncSession, node: Node | None, order: Sort | None) -> Keys:
    metrics, configs = keys_in(node)
    if order is not None and order.kind == "metric":
        metrics.append(order.name)
    elif order is not None and order.kind == "config":
        configs.append(order.name)
    return await find_keys(session, metrics, configs)
