"""A filter as a condition on runs: values go in as parameters, and indexes answer.

Conditions on metrics, config values and tags look into tables with many rows a run. Where few runs
fit one of them, those are found first, from its index; else each run of a page is asked.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, exists, false, func, not_, or_, select, true
from sqlalchemy.ext.asyncio import AsyncSession

from app.errors import Invalid, Problem
from app.interned import find_numbers
from app.metrics.charts import direction_of
from app.metrics.summaries import Direction
from app.models import (
    Cluster,
    Config,
    ConfigKey,
    ConfigValue,
    Experiment,
    MetricKey,
    MetricSeries,
    Project,
    Run,
    RunStatus,
    RunTag,
    Sweep,
)
from app.runs.filter_language import (
    All,
    Any_,
    Condition,
    Kind,
    Node,
    Not,
    Value,
    conditions_of,
)

FEW = 2_000
"""So many runs are found first; where more fit, each is asked as the table goes along."""
_OWN = {"id": Run.slug, "name": Run.name, "owner": Run.owner}
_OTHERS: dict[str, tuple[Any, Any, Any]] = {
    "experiment": (Experiment.name, Experiment.id, Run.experiment_id),
    "project": (Project.slug, Project.id, Run.project_id),
    "cluster": (Cluster.name, Cluster.id, Run.cluster_id),
    "recipe": (Config.recipe, Config.id, Run.config_id),
    "sweep": (Sweep.slug, Sweep.id, Run.sweep_id),
}
_FLAGS = {"pinned": Run.pinned_at, "archived": Run.archived_at}
_AGO = re.compile(r"-(\d{1,6}(?:\.\d{1,3})?)([smhdw])")
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_SPREAD = (Kind.METRIC, Kind.CONFIG, Kind.TAG)


@dataclass(frozen=True, slots=True)
class Keys:
    """The numbers of the keys that a filter or an order names; unknown keys are left out."""

    metrics: Mapping[str, int]
    configs: Mapping[str, int]


async def find_keys(session: AsyncSession, metrics: Sequence[str], configs: Sequence[str]) -> Keys:
    """In a query for each kind that is asked for."""
    return Keys(
        await find_numbers(session, MetricKey, sorted(set(metrics))) if metrics else {},
        await find_numbers(session, ConfigKey, sorted(set(configs))) if configs else {},
    )


def keys_in(node: Node | None) -> tuple[list[str], list[str]]:
    """The metric keys and the config keys that a filter names."""
    fields = [condition.field for condition in conditions_of(node)]
    return (
        [field.name for field in fields if field.kind is Kind.METRIC],
        [field.name for field in fields if field.kind is Kind.CONFIG],
    )


async def where(
    session: AsyncSession, node: Node | None, keys: Keys, *, now: datetime
) -> ColumnElement[bool]:
    """The condition on `Run`. Raises `Invalid` for times and statuses that are none."""
    if node is None:
        return true()
    parts = _conjuncts(node)
    for part in parts:
        if isinstance(part, Condition) and part.field.kind in _SPREAD and not _is_other(part):
            query = _fitting(part, keys)
            if query is not None and await _is_rare(session, query):
                rest = (_compiled(each, keys, now) for each in parts if each is not part)
                return and_(Run.id.in_(query), *rest)
    return _compiled(node, keys, now)


def statistic_column(key: str, statistic: str) -> Any:
    """The column of a metric's statistic; the best one is the largest or the smallest."""
    if statistic == "best":
        return MetricSeries.max if direction_of(key) is Direction.MAX else MetricSeries.min
    return getattr(MetricSeries, statistic)


def _conjuncts(node: Node) -> Sequence[Node]:
    return node.parts if isinstance(node, All) else (node,)


async def _is_rare(session: AsyncSession, query: Select[Any]) -> bool:
    """Whether so few runs fit that they are found first."""
    some = query.limit(FEW + 1).subquery()
    return (await session.scalar(select(func.count()).select_from(some)) or 0) <= FEW


def _compiled(node: Node, keys: Keys, now: datetime) -> ColumnElement[bool]:
    if isinstance(node, Not):
        # What has no value is no part of a condition, so it is a part of its opposite.
        return not_(func.coalesce(_compiled(node.part, keys, now), false()))
    if isinstance(node, All):
        return and_(*(_compiled(part, keys, now) for part in node.parts))
    if isinstance(node, Any_):
        return or_(*(_compiled(part, keys, now) for part in node.parts))
    return _condition(node, keys, now)


def _condition(condition: Condition, keys: Keys, now: datetime) -> ColumnElement[bool]:
    field = condition.field
    if field.kind in _SPREAD:
        return _of_others(condition, keys)
    if field.kind is Kind.STATUS:
        return _compare(Run.status, condition, [_status(v, condition) for v in condition.values])
    if field.kind is Kind.FLAG:
        is_set = (condition.operator == "!=") != (True in condition.values)
        column = _FLAGS[field.name]
        return column.is_not(None) if is_set else column.is_(None)
    if field.kind is Kind.TIME:
        times = [_time(str(value), condition, now) for value in condition.values]
        return _compare(getattr(Run, field.name), condition, times)
    if field.kind is Kind.NUMBER:
        return _compare(getattr(Run, field.name), condition, condition.values)
    if field.name in _OWN:
        return _compare(_OWN[field.name], condition, condition.values)
    column, key, reference = _OTHERS[field.name]
    fits = _compare(column, condition, condition.values)
    found: ColumnElement[bool] = reference.in_(select(key).where(fits))
    return found


def _of_others(condition: Condition, keys: Keys) -> ColumnElement[bool]:
    """Whether a run has a row that fits."""
    is_other = _is_other(condition)
    if is_other:
        condition = Condition(condition.field, "=", condition.values)
    query = _fitting(condition, keys)
    if query is None:
        return true() if is_other else false()
    column = query.selected_columns[0]
    found = exists(query.where(column == Run.id).correlate(Run))
    return not_(found) if is_other else found


def _is_other(condition: Condition) -> bool:
    """Whether it is about all that a run has not."""
    return condition.operator == "!=" and condition.field.kind is Kind.TAG


def _fitting(condition: Condition, keys: Keys) -> Select[Any] | None:
    """The ids of the runs with a row that fits; None: the key is unknown."""
    field = condition.field
    if field.kind is Kind.TAG:
        return select(RunTag.run_id).where(_compare(RunTag.tag, condition, condition.values))
    known = keys.metrics if field.kind is Kind.METRIC else keys.configs
    if field.name not in known:
        return None
    number = known[field.name]
    if field.kind is Kind.METRIC:
        column = statistic_column(field.name, field.statistic)
        fits = _compare(column, condition, condition.values)
        return select(MetricSeries.run_id).where(MetricSeries.key_id == number, fits)
    return select(ConfigValue.run_id).where(ConfigValue.key_id == number, _config(condition))


def _config(condition: Condition) -> ColumnElement[bool]:
    """A config value is a number or a text; which of the two is looked at, the value says."""
    numbers = [float(value) for value in condition.values if not isinstance(value, str)]
    texts = [value for value in condition.values if isinstance(value, str)]
    parts = []
    if numbers:
        parts.append(_compare(ConfigValue.number, condition, numbers))
    if texts:
        parts.append(and_(ConfigValue.text != "", _compare(ConfigValue.text, condition, texts)))
    return or_(*parts)


def _compare(
    column: Any, condition: Condition, values: Sequence[Value | datetime | RunStatus]
) -> ColumnElement[bool]:
    first = values[0]
    match condition.operator:
        case "in":
            found = column.in_(values)
        case "=":
            found = column == first
        case "!=":
            found = column != first
        case "<":
            found = column < first
        case "<=":
            found = column <= first
        case ">":
            found = column > first
        case ">=":
            found = column >= first
        case "~":
            found = column.icontains(str(first), autoescape=True)
        case _:
            found = not_(column.icontains(str(first), autoescape=True))
    made: ColumnElement[bool] = found
    return made


def _status(value: Value, condition: Condition) -> RunStatus:
    try:
        return RunStatus(str(value).lower())
    except ValueError:
        known = ", ".join(RunStatus)
        raise _wrong(condition, f"there is no status {value}; there are {known}") from None


def _time(text: str, condition: Condition, now: datetime) -> datetime:
    """`2026-11-29`, with a time and zone if wanted, or `-7d`: so long ago."""
    if ago := _AGO.fullmatch(text):
        try:
            return now - timedelta(seconds=float(ago[1]) * _SECONDS[ago[2]])
        except OverflowError:
            pass
    try:
        at = datetime.fromisoformat(text)
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        message = f'{text} is no time: give "2026-11-29", "2026-11-29T12:00Z" or "-7d"'
        raise _wrong(condition, message) from None


def _wrong(condition: Condition, message: str) -> Invalid:
    place = f"character {condition.position + 1}"
    return Invalid(f"filter, {place}: {message}", [Problem("filter", place, message)])
