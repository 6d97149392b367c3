"""Queries of the table of runs: values of chosen columns, groups, names of keys."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, and_, case, cast, exists, func, select
from sqlalchemy import String as Text
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from app.models import (
    Cluster,
    ConfigKey,
    ConfigValue,
    Experiment,
    MetricKey,
    MetricSeries,
    Project,
    Run,
)
from app.runs.filter_sql import Keys, statistic_column
from app.runs.sorting import Sort

Values = dict[tuple[UUID, str, str], Any]
_GROUPS: dict[str, tuple[Any, Any]] = {
    "experiment": (Experiment.name, Run.experiment_id == Experiment.id),
    "cluster": (Cluster.name, Run.cluster_id == Cluster.id),
    "project": (Project.name, Run.project_id == Project.id),
}


@dataclass(frozen=True, slots=True)
class Aggregate:
    """Of a column over the `n` runs of a group that have a number there."""

    n: int
    mean: float | None
    least: float | None
    most: float | None


@dataclass(frozen=True, slots=True)
class Group:
    """`value` None: of runs without one."""

    value: str | float | None
    count: int
    aggregates: Sequence[Aggregate]


async def metric_values(
    session: AsyncSession, ids: Sequence[UUID], columns: Sequence[Sort], keys: Mapping[str, int]
) -> Values:
    """By (run, key, statistic), in one query."""
    wanted = [column for column in columns if column.kind == "metric" and column.name in keys]
    statistics = sorted({column.statistic for column in wanted})
    places = {statistic: place for place, statistic in enumerate(statistics)}
    query = select(
        MetricSeries.run_id, MetricSeries.key_id, *(getattr(MetricSeries, s) for s in statistics)
    ).where(MetricSeries.run_id.in_(ids), MetricSeries.key_id.in_(keys.values()))
    by_number: dict[int, list[Sort]] = {}
    for column in wanted:
        by_number.setdefault(keys[column.name], []).append(column)
    return {
        (run_id, column.name, column.statistic): values[places[column.statistic]]
        for run_id, number, *values in await session.execute(query)
        for column in by_number[number]
    }


async def config_values(
    session: AsyncSession, ids: Sequence[UUID], keys: Mapping[str, int]
) -> Values:
    """By (run, key, ""), in one query; a text where there is one."""
    names = {number: name for name, number in keys.items()}
    query = select(
        ConfigValue.run_id, ConfigValue.key_id, ConfigValue.number, ConfigValue.text
    ).where(ConfigValue.run_id.in_(ids), ConfigValue.key_id.in_(names))
    return {
        (run_id, names[number_of], ""): text or number
        for run_id, number_of, number, text in await session.execute(query)
    }


async def group(
    session: AsyncSession,
    condition: ColumnElement[bool],
    by: str,
    columns: Sequence[Sort],
    *,
    keys: Keys,
    limit: int,
) -> list[Group]:
    """In one query, the largest group first."""
    value, joins = _group_value(by, keys)
    measured: list[Any] = []
    for column in columns:
        number, join = _measure(column, keys)
        if join is not None:
            joins.append(join)
        measured += [func.count(number), func.avg(number), func.min(number), func.max(number)]
    query = select(value, func.count(Run.id), *measured).select_from(Run)
    for target, on in joins:
        query = query.outerjoin(target, on)
    query = query.where(condition).group_by(value).order_by(func.count(Run.id).desc(), value)
    return [
        Group(row[0], row[1], [Aggregate(*row[at : at + 4]) for at in range(2, len(row), 4)])
        for row in await session.execute(query.limit(limit))
    ]


async def search_metrics(
    session: AsyncSession, words: str, projects: frozenset[UUID] | None, limit: int
) -> list[str]:
    return await _search(session, MetricKey, MetricSeries, words, projects, limit)


async def search_configs(
    session: AsyncSession, words: str, projects: frozenset[UUID] | None, limit: int
) -> list[str]:
    return await _search(session, ConfigKey, ConfigValue, words, projects, limit)


async def _search(
    session: AsyncSession,
    names: Any,
    rows: Any,
    words: str,
    projects: frozenset[UUID] | None,
    limit: int,
) -> list[str]:
    """Names that some run bears which may be seen; names of others' keys stay theirs."""
    query = select(names.name).order_by(names.name).limit(limit)
    for word in words.split():
        query = query.where(names.name.icontains(word, autoescape=True))
    seen = select(rows.run_id).where(rows.key_id == names.id)
    if projects is not None:
        seen = seen.join(Run, Run.id == rows.run_id).where(Run.project_id.in_(projects))
    return list(await session.scalars(query.where(exists(seen.correlate(names)))))


def _group_value(by: str, keys: Keys) -> tuple[Any, list[tuple[Any, Any]]]:
    if by in _GROUPS:
        column, on = _GROUPS[by]
        return column, [(column.class_, on)]
    if not by.startswith("config:"):
        return cast(getattr(Run, by), Text), []
    row = aliased(ConfigValue)
    number = keys.configs.get(by.partition(":")[2], -1)
    shown = case((row.text != "", row.text), else_=cast(row.number, Text))
    return shown, [(row, and_(row.run_id == Run.id, row.key_id == number))]


def _measure(column: Sort, keys: Keys) -> tuple[Any, tuple[Any, Any] | None]:
    """The number of a column, and the join that it needs."""
    if column.kind == "metric":
        series = aliased(MetricSeries)
        number = keys.metrics.get(column.name, -1)
        value = getattr(series, statistic_column(column.name, column.statistic).key)
        return value, (series, and_(series.run_id == Run.id, series.key_id == number))
    row = aliased(ConfigValue)
    number = keys.configs.get(column.name, -1)
    return row.number, (row, and_(row.run_id == Run.id, row.key_id == number))
