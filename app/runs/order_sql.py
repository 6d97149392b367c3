"""Runs in any order, a page at a time: each order is a few walks along an index.

First the runs that have a value, along the index of that value; then those without, newest first.
A page goes on from the value and the number of the last row shown, so any page costs the same.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, and_, exists, literal, null, or_, select, type_coerce
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.types import NullType

from app.models import ConfigValue, MetricSeries, Run
from app.runs.filter_sql import Keys, statistic_column
from app.runs.shown import ShownRun, add_to, reader
from app.runs.sorting import Sort

Start = tuple[int, Any, Any]
"""The walk, the value and what decides ties of the last row shown."""


@dataclass(frozen=True, slots=True)
class Place:
    """A row of a list: its run, the walk it is in, its value there and what decides ties."""

    run_id: UUID
    walk: int
    value: Any
    tie: Any


@dataclass(frozen=True, slots=True)
class _Walk:
    """`base` selects nothing yet; `value` None: in the order of `tie` alone."""

    base: Select[Any]
    value: Any
    tie: Any
    is_descending: bool


async def list_places(
    session: AsyncSession,
    condition: ColumnElement[bool],
    sort: Sort,
    keys: Keys,
    *,
    after: Start | None,
    limit: int,
) -> list[Place]:
    """At most `limit` rows after the place (walk, value, tie) of the last one shown."""
    found: list[Place] = []
    for number, walk, start in _walks_from(sort, keys, after):
        query = _query(walk, condition, start).limit(limit - len(found))
        found += [Place(row[0], number, row[1], row[2]) for row in await session.execute(query)]
        if len(found) == limit:
            break
    return found


async def list_shown(
    session: AsyncSession,
    condition: ColumnElement[bool],
    sort: Sort,
    keys: Keys,
    *,
    after: Start | None,
    limit: int,
) -> list[tuple[Place, ShownRun]]:
    """As `list_places`, each with what a table shows of its run, by the same statements."""
    found: list[tuple[Place, ShownRun]] = []
    read = reader(session.get_bind().dialect)
    for number, walk, start in _walks_from(sort, keys, after):
        some = _query(walk, condition, start).limit(limit - len(found)).subquery()
        run_id, value, tie = some.c
        # Only the last one is ever looked at, and an id is the run's.
        query = select(value, type_coerce(tie, NullType()).label("raw_tie"))
        query = add_to(query.join_from(some, Run, Run.id == run_id))
        down = [column.desc() if walk.is_descending else column for column in (value, tie)]
        for at, decides, *row in await session.execute(query.order_by(*down)):
            run = read(tuple(row))
            last = decides if walk.tie is MetricSeries.id else run.id
            found.append((Place(run.id, number, at, last), run))
        if len(found) == limit:
            break
    return found


def _query(walk: _Walk, condition: ColumnElement[bool], start: Start | None) -> Select[Any]:
    value = null() if walk.value is None else walk.value
    names = (Run.id.label("run_id"), value.label("value"), walk.tie.label("tie"))
    query = walk.base.add_columns(*names).where(condition)
    if start is not None:
        query = query.where(_beyond(walk, start[1], start[2]))
    order = [] if walk.value is None else [walk.value]
    columns = [*order, walk.tie]
    down = [column.desc() for column in columns]
    return query.order_by(*(down if walk.is_descending else columns))


def _walks_from(
    sort: Sort, keys: Keys, after: Start | None
) -> Iterator[tuple[int, _Walk, Start | None]]:
    """The walks that are left, the first of them from the last row shown."""
    for number, walk in _walks(sort, keys):
        if after is None or number > after[0]:
            yield number, walk, None
        elif number == after[0]:
            yield number, walk, after


def _beyond(walk: _Walk, value: Any, tie: Any) -> ColumnElement[bool]:
    def past(column: Any, last: Any) -> ColumnElement[bool]:
        place = literal(last, column.type)
        found: ColumnElement[bool] = column < place if walk.is_descending else column > place
        return found

    if walk.value is None:
        return past(walk.tie, tie)
    # The first part alone lets the index be walked from there.
    last = literal(value, walk.value.type)
    start = walk.value <= last if walk.is_descending else walk.value >= last
    return and_(start, or_(past(walk.value, value), past(walk.tie, tie)))


def _walks(sort: Sort, keys: Keys) -> Sequence[tuple[int, _Walk]]:
    """The walks of an order, numbered as cursors name them."""
    runs = select().select_from(Run)
    if sort.kind == "column":
        return list(enumerate(_walks_of_column(sort.name, sort.is_descending, runs)))
    is_metric = sort.kind == "metric"
    number = (keys.metrics if is_metric else keys.configs).get(sort.name)
    if number is None:
        return [(1 if is_metric else 2, _Walk(runs, None, Run.id, True))]
    make = _walks_of_metric if is_metric else _walks_of_config
    return list(enumerate(make(sort, number, runs)))


def _walks_of_metric(sort: Sort, number: int, runs: Select[Any]) -> Sequence[_Walk]:
    column = statistic_column(sort.name, sort.statistic)
    base = _joined(MetricSeries, number).where(column.is_not(None))
    rest = runs.where(_without(MetricSeries, number, column.is_not(None)))
    return [
        _Walk(base, column, MetricSeries.id, sort.is_descending),
        _Walk(rest, None, Run.id, True),
    ]


def _walks_of_config(sort: Sort, number: int, runs: Select[Any]) -> Sequence[_Walk]:
    base, down = _joined(ConfigValue, number), sort.is_descending
    texts = base.where(ConfigValue.text != "", ConfigValue.number.is_(None))
    numbers = base.where(ConfigValue.number.is_not(None))
    return [
        _Walk(numbers, ConfigValue.number, ConfigValue.run_id, down),
        _Walk(texts, ConfigValue.text, ConfigValue.run_id, down),
        _Walk(runs.where(_without(ConfigValue, number)), None, Run.id, True),
    ]


def _walks_of_column(name: str, down: bool, runs: Select[Any]) -> Sequence[_Walk]:
    if name == "created_at":
        # Ids of runs count the time of their making.
        return [_Walk(runs, None, Run.id, down)]
    column = getattr(Run, name)
    if not column.property.columns[0].nullable:
        return [_Walk(runs, column, Run.id, down)]
    return [
        _Walk(runs.where(column.is_not(None)), column, Run.id, down),
        _Walk(runs.where(column.is_(None)), None, Run.id, True),
    ]


def _joined(model: Any, number: int) -> Select[Any]:
    joined = select().select_from(model).join(Run, Run.id == model.run_id)
    return joined.where(model.key_id == number)


def _without(model: Any, number: int, *conditions: ColumnElement[bool]) -> ColumnElement[bool]:
    found = select(model.run_id).where(model.run_id == Run.id, model.key_id == number, *conditions)
    return ~exists(found.correlate(Run))
