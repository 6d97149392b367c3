"""Queries on runs, attempts and events."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, and_, case, func, literal, or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import selectinload

from app.models import (
    Cluster,
    Config,
    ConfigValue,
    DesiredStatus,
    Event,
    Experiment,
    MetricSeries,
    Run,
    RunStatus,
    Sweep,
)
from app.runs.states import ENDED

_SEARCHED = (Run.name, Run.slug, Experiment.name)
# As `recipes.flatten` cuts what is stored.
_VALUE_LENGTH = 500
_ACTIVE = (RunStatus.SUBMITTING, RunStatus.PENDING, RunStatus.RUNNING, RunStatus.STOPPING)


@dataclass(frozen=True, slots=True)
class Sort:
    """An order of runs. `kind` is `column`, `metric` or `config`; nulls come last."""

    kind: str
    name: str
    statistic: str = ""
    is_descending: bool = True


@dataclass(frozen=True, slots=True)
class Waiting:
    """A queued run. `sweep_limit`: of its sweep, if that has as many runs under way or before."""

    run_id: UUID
    sweep_limit: int | None


async def find_by_slug(session: AsyncSession, slug: str) -> Run | None:
    """A run with its experiment, config, cluster and attempts."""
    run: Run | None = await session.scalar(_loaded(select(Run).where(Run.slug == slug)))
    return run


async def list_by_slug(session: AsyncSession, slugs: Sequence[str]) -> Sequence[Run]:
    """The runs of these slugs, in no order and without relations."""
    return (await session.scalars(select(Run).where(Run.slug.in_(slugs)))).all()


async def list_sorted(
    session: AsyncSession,
    *,
    projects: frozenset[UUID] | None,
    sort: Sort,
    after: list[Any] | None,
    limit: int,
    experiment_id: UUID | None = None,
    sweep: str = "",
    text: str = "",
    statuses: Sequence[RunStatus] = (),
) -> Sequence[tuple[Run, Any]]:
    """Runs with their sort value; `after` is [sort value, id] of the last one already shown.

    `sweep` is a sweep's slug. `text` is searched for in the name, the slug and the experiment's
    name.
    """
    value, query = _sorted_by(sort)
    query = query.add_columns(value.label("sort_value"))
    query = query.where(Run.deleted_at.is_(None))
    if projects is not None:
        query = query.where(Run.project_id.in_(projects))
    if experiment_id is not None:
        query = query.where(Run.experiment_id == experiment_id)
    if sweep:
        query = query.where(
            Run.sweep_id == select(Sweep.id).where(Sweep.slug == sweep).scalar_subquery()
        )
    if text:
        query = query.join(Run.experiment).where(
            or_(*(c.icontains(text, autoescape=True) for c in _SEARCHED))
        )
    if statuses:
        query = query.where(Run.status.in_(statuses))
    if after is not None:
        query = query.where(_comes_after(value, sort, after))
    order = value.desc() if sort.is_descending else value.asc()
    query = query.order_by(value.is_(None), order, Run.id.desc()).limit(limit)
    rows = await session.execute(_loaded(query))
    return [(row[0], row[1]) for row in rows]


async def list_events(
    session: AsyncSession, run_id: UUID, *, beyond: UUID | None, limit: int, newest_first: bool
) -> Sequence[Event]:
    """Those that come after the event `beyond`, in the order asked for."""
    query = select(Event).where(Event.run_id == run_id).limit(limit)
    query = query.order_by(Event.id.desc() if newest_first else Event.id)
    if beyond is not None:
        query = query.where(Event.id < beyond if newest_first else Event.id > beyond)
    return (await session.scalars(query)).all()


async def summaries_of(
    session: AsyncSession, run_ids: Sequence[UUID], keys: Sequence[str]
) -> dict[UUID, dict[str, MetricSeries]]:
    """The summaries of some keys of some runs, in one query."""
    query = select(MetricSeries).where(MetricSeries.run_id.in_(run_ids), MetricSeries.key.in_(keys))
    found: dict[UUID, dict[str, MetricSeries]] = {}
    for series in await session.scalars(query):
        found.setdefault(series.run_id, {})[series.key] = series
    return found


async def last_steps(session: AsyncSession, run_ids: Sequence[UUID]) -> dict[UUID, int]:
    """The highest last step of all series of each run; runs without steps are left out."""
    query = (
        select(MetricSeries.run_id, func.max(MetricSeries.last_step))
        .where(MetricSeries.run_id.in_(run_ids))
        .group_by(MetricSeries.run_id)
    )
    rows = await session.execute(query)
    return {run_id: step for run_id, step in rows if step is not None}


async def count_runs(session: AsyncSession, *, projects: frozenset[UUID] | None) -> int:
    query = select(func.count(Run.id)).where(Run.deleted_at.is_(None))
    if projects is not None:
        query = query.where(Run.project_id.in_(projects))
    return await session.scalar(query) or 0


async def queued_before(session: AsyncSession, run: Run) -> int:
    """How many runs the cluster takes before this queued one: active and queued ones.

    Whatever became of its row, a run that is under way takes its place. One that is held back by
    its sweep takes none, so that others need not wait for it.
    """
    ahead = or_(
        Run.status.in_(_ACTIVE),
        and_(_is_queued(), Run.id < run.id, Run.id.not_in(_held())),
    )
    query = select(func.count(Run.id)).where(
        Run.cluster_id == run.cluster_id, Run.id != run.id, ahead
    )
    return await session.scalar(query) or 0


async def active_by_cluster(session: AsyncSession) -> dict[UUID, int]:
    """How many runs each cluster is busy with."""
    return {row[0]: row[1] for row in await session.execute(_active())}


async def list_path_users(
    session: AsyncSession,
    cluster_id: UUID,
    paths: Mapping[str, str],
    projects: frozenset[UUID] | None,
    *,
    limit: int,
) -> list[tuple[str, dict[str, str]]]:
    """Unfinished runs with one of these config values, by name; the newest first.

    `paths` by key, and those that a run has of them; with or without a slash at the end.
    """
    same = [
        and_(ConfigValue.key == key, ConfigValue.text.in_(_spellings(path)))
        for key, path in paths.items()
    ]
    query = (
        select(Run.id, Run.name, ConfigValue.key, ConfigValue.text)
        .join(ConfigValue, ConfigValue.run_id == Run.id)
        .where(or_(*same), Run.cluster_id == cluster_id, Run.status.not_in(ENDED))
        .where(Run.deleted_at.is_(None))
        .order_by(Run.id.desc())
        .limit(limit * len(paths))
    )
    if projects is not None:
        query = query.where(Run.project_id.in_(projects))
    found: dict[UUID, tuple[str, dict[str, str]]] = {}
    for run_id, name, key, text in await session.execute(query):
        found.setdefault(run_id, (name, {}))[1][key] = text
    return list(found.values())[:limit]


async def queued_by_cluster(session: AsyncSession) -> dict[UUID, list[Waiting]]:
    """The runs that wait for each cluster, the next one first."""
    found: dict[UUID, list[Waiting]] = {}
    for row in (await session.execute(_waiting())).all():
        found.setdefault(row[0], []).append(Waiting(row[1], row[2]))
    return found


async def sweep_limit(session: AsyncSession, run: Run) -> int | None:
    """The limit of the queued run's sweep, if as many others are under way or queued before it."""
    queue = _queue().where(Run.sweep_id == run.sweep_id).subquery()
    query = select(queue.c.sweep_limit).where(
        queue.c.run_id == run.id, queue.c.ahead >= queue.c.sweep_limit
    )
    return await session.scalar(query)


async def list_of_sweep(session: AsyncSession, sweep_id: UUID) -> Sequence[Run]:
    """By number, loaded, without deleted ones."""
    query = select(Run).where(Run.sweep_id == sweep_id, Run.deleted_at.is_(None))
    found: Sequence[Run] = (await session.scalars(_loaded(query.order_by(Run.sweep_number)))).all()
    return found


async def lock_sweep(session: AsyncSession, sweep_id: UUID) -> Sequence[Run]:
    """All runs of a sweep with config and cluster, held until the transaction ends."""
    await session.flush()
    query = (
        select(Run)
        .where(Run.sweep_id == sweep_id)
        .order_by(Run.id)
        .options(selectinload(Run.config), selectinload(Run.cluster))
        .with_for_update()
        .execution_options(populate_existing=True)
    )
    return (await session.scalars(query)).all()


async def count_by_sweep(
    session: AsyncSession, sweep_ids: Sequence[UUID]
) -> dict[UUID, dict[RunStatus, int]]:
    query = (
        select(Run.sweep_id, Run.status, func.count(Run.id))
        .where(Run.sweep_id.in_(sweep_ids), Run.deleted_at.is_(None))
        .group_by(Run.sweep_id, Run.status)
    )
    found: dict[UUID, dict[RunStatus, int]] = {}
    for sweep_id, status, count in await session.execute(query):
        if sweep_id is not None:
            found.setdefault(sweep_id, {})[status] = count
    return found


async def count_by_experiment(
    session: AsyncSession, experiment_ids: Sequence[UUID]
) -> dict[UUID, int]:
    query = (
        select(Run.experiment_id, func.count(Run.id))
        .where(Run.experiment_id.in_(experiment_ids), Run.deleted_at.is_(None))
        .group_by(Run.experiment_id)
    )
    return {row[0]: row[1] for row in await session.execute(query)}


async def count_by_version(session: AsyncSession, experiment_id: UUID) -> dict[int, int]:
    version = func.coalesce(Config.version, Config.base_version)
    query = (
        select(version, func.count(Run.id))
        .join(Config, Config.id == Run.config_id)
        .where(Run.experiment_id == experiment_id, Run.deleted_at.is_(None), version.is_not(None))
        .group_by(version)
    )
    return {row[0]: row[1] for row in await session.execute(query)}


async def lock(session: AsyncSession, run: Run) -> None:
    """Holds the run until the transaction ends, and reads again what may have changed before.

    What is decided from a status must still be true when it is stored.
    """
    await session.flush()
    names = ["status", "desired_status", "deleted_at", "due_at"]
    await session.refresh(run, names, with_for_update=True)


async def set_desired(session: AsyncSession, run_id: UUID, desired: DesiredStatus) -> None:
    """Touches the wish only, so that it cannot undo what a worker writes at the same time."""
    await session.execute(update(Run).where(Run.id == run_id).values(desired_status=desired))


async def set_desired_all(
    session: AsyncSession, run_ids: Sequence[UUID], desired: DesiredStatus
) -> None:
    """As `set_desired`, for runs that the session holds."""
    await session.execute(update(Run).where(Run.id.in_(run_ids)).values(desired_status=desired))


@cache
def _active() -> Select[UUID, int]:
    # Making these two takes longer than running them, and each page with a cluster on it asks.
    return (
        select(Cluster.id, func.count(Run.id))
        .join(Run, Run.cluster_id == Cluster.id)
        .where(Run.status.in_(_ACTIVE))
        .group_by(Cluster.id)
    )


@cache
def _waiting() -> Select[Any]:
    queue = _queue().subquery()
    limit: ColumnElement[int | None] = case(
        (queue.c.ahead >= queue.c.sweep_limit, queue.c.sweep_limit)
    )
    return select(queue.c.cluster_id, queue.c.run_id, limit).order_by(queue.c.run_id)


def _spellings(path: str) -> tuple[str, str]:
    bare = path.rstrip("/")
    return bare[:_VALUE_LENGTH], f"{bare}/"[:_VALUE_LENGTH]


def _queue() -> Select[Any]:
    """Queued runs with the limit of their sweep, and how many of the sweep's runs go before them.

    Those are the runs under way and the queued ones that were made earlier.
    """
    under_way = (
        select(Run.sweep_id, func.count(Run.id).label("count"))
        .where(Run.sweep_id.is_not(None), Run.status.in_(_ACTIVE))
        .group_by(Run.sweep_id)
        .subquery()
    )
    place = func.row_number().over(partition_by=Run.sweep_id, order_by=Run.id)
    ahead = place - 1 + func.coalesce(under_way.c.count, 0)
    return (
        select(
            Run.cluster_id,
            Run.id.label("run_id"),
            Sweep.max_running_runs.label("sweep_limit"),
            ahead.label("ahead"),
        )
        .outerjoin(Sweep, Sweep.id == Run.sweep_id)
        .outerjoin(under_way, under_way.c.sweep_id == Run.sweep_id)
        .where(_is_queued(), Run.cluster_id.is_not(None))
    )


def _held() -> Select[tuple[UUID]]:
    """The ids of queued runs that wait for others of their sweep."""
    queue = _queue().where(Run.sweep_id.is_not(None)).subquery()
    return select(queue.c.run_id).where(queue.c.ahead >= queue.c.sweep_limit)


def _is_queued() -> ColumnElement[bool]:
    return and_(Run.status == RunStatus.QUEUED, Run.deleted_at.is_(None))


def _loaded(query: Any) -> Any:
    return query.options(
        selectinload(Run.experiment).joinedload(Experiment.project, innerjoin=True),
        selectinload(Run.config),
        selectinload(Run.cluster),
        selectinload(Run.attempts),
        selectinload(Run.sweep),
    )


def _sorted_by(sort: Sort) -> tuple[ColumnElement[Any], Select[Any]]:
    if sort.kind == "column":
        return getattr(Run, sort.name).expression, select(Run)
    if sort.kind == "metric":
        joined = select(Run).outerjoin(
            MetricSeries, and_(MetricSeries.run_id == Run.id, MetricSeries.key == sort.name)
        )
        return getattr(MetricSeries, sort.statistic).expression, joined
    joined = select(Run).outerjoin(
        ConfigValue, and_(ConfigValue.run_id == Run.id, ConfigValue.key == sort.name)
    )
    return ConfigValue.number.expression, joined


def _comes_after(value: ColumnElement[Any], sort: Sort, after: list[Any]) -> ColumnElement[bool]:
    last, last_id = after
    if last is None:
        return and_(value.is_(None), Run.id < last_id)
    place = literal(last, value.type)
    beyond = value < place if sort.is_descending else value > place
    return or_(beyond, and_(value == place, Run.id < last_id), value.is_(None))
