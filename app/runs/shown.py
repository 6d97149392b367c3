"""Runs as their table shows them: plain columns, decoded once for each state that a run has.

Tables ask for themselves again every few seconds, and most of their rows stand. So a row is looked
up as the driver gave it, and made into values only where it is a new one.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache, partial
from typing import Any
from uuid import UUID

from sqlalchemy import JSON, Dialect, Select, Text, case, cast, func, select, type_coerce
from sqlalchemy.types import NullType

from app.models import (
    Cluster,
    ClusterStatus,
    DesiredStatus,
    Experiment,
    MetricSeries,
    Run,
    RunOrigin,
    RunStatus,
)

# Of some 2 kB each.
_RUNS_KEPT = 4_000


@dataclass(frozen=True, slots=True)
class ShownExperiment:
    name: str


@dataclass(frozen=True, slots=True)
class ShownCluster:
    name: str
    status: ClusterStatus


@dataclass(frozen=True, slots=True, eq=False)
class ShownRun:
    """A run as a table shows it. Two are the same object while nothing of it changed.

    `pushed_step` is the newest step of a run that is fed from outside.
    """

    id: UUID
    slug: str
    name: str
    project_id: UUID
    cluster_id: UUID | None
    origin: RunOrigin
    status: RunStatus
    status_reason: str
    desired_status: DesiredStatus
    conditions: list[dict[str, Any]]
    tags: list[str]
    owner: str
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    step: int | None
    total_steps: int | None
    pinned_at: datetime | None
    experiment: ShownExperiment
    cluster: ShownCluster | None
    pushed_step: int | None


_OF_RUN: Sequence[Any] = (
    Run.id,
    Run.slug,
    Run.name,
    Run.project_id,
    Run.cluster_id,
    Run.origin,
    Run.status,
    Run.status_reason,
    Run.desired_status,
    Run.conditions,
    Run.tags,
    Run.owner,
    Run.created_at,
    Run.started_at,
    Run.ended_at,
    Run.step,
    Run.total_steps,
    Run.pinned_at,
)
_COLUMNS: Sequence[Any] = (*_OF_RUN, Experiment.name, Cluster.name, Cluster.status)


def add_to(query: Select[Any]) -> Select[Any]:
    """The query, which selects from runs, with the columns that `reader` reads, at its end."""
    steps = select(func.max(MetricSeries.last_step)).where(MetricSeries.run_id == Run.id)
    pushed = case((Run.origin == RunOrigin.EXTERNAL, steps.correlate(Run).scalar_subquery()))
    joined = query.join(Experiment, Experiment.id == Run.experiment_id).outerjoin(
        Cluster, Cluster.id == Run.cluster_id
    )
    # Without a type nothing is made of what the driver gives.
    raw = (_raw(column).label(f"shown_{place}") for place, column in enumerate(_COLUMNS))
    return joined.add_columns(*raw, pushed.label("pushed"))


def reader(dialect: Dialect) -> Callable[[Sequence[Any]], ShownRun]:
    """Makes a run of the columns of `add_to`."""
    return partial(_read, dialect)


@lru_cache(maxsize=_RUNS_KEPT)
def _read(dialect: Dialect, row: tuple[Any, ...]) -> ShownRun:
    *stored, pushed_step = row
    decoded = [each(value) for each, value in zip(_decoders(dialect), stored, strict=True)]
    *of_run, experiment, cluster, status = decoded
    place = None if cluster is None else ShownCluster(cluster, status)
    values = [*of_run, ShownExperiment(experiment), place, pushed_step]
    return ShownRun(*values)


@lru_cache(maxsize=8)
def _decoders(dialect: Dialect) -> Sequence[Callable[[Any], Any]]:
    return [_decoder(column, dialect) for column in _COLUMNS]


def _raw(column: Any) -> Any:
    # A driver may read JSON by itself, into what has no hash.
    is_json = isinstance(column.type, JSON)
    return cast(column, Text) if is_json else type_coerce(column, NullType())


def _decoder(column: Any, dialect: Dialect) -> Callable[[Any], Any]:
    if isinstance(column.type, JSON):
        return json.loads
    found: Any = column.type.dialect_impl(dialect).result_processor(dialect, None)
    return found or _as_it_is


def _as_it_is(value: Any) -> Any:
    return value
