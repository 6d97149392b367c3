"""Queries on runs, attempts and events."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    and_,
    bindparam,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import selectinload

from app.interned import execute_many, numbers_of, table_of
from app.models import (
    Attempt,
    Config,
    ConfigKey,
    ConfigValue,
    DesiredStatus,
    Event,
    Experiment,
    MetricKey,
    MetricSeries,
    Run,
    RunStatus,
    RunTag,
    Sweep,
)
from app.runs.states import ENDED

# As `recipes.flatten` cuts what is stored.
_VALUE_LENGTH = 500


@dataclass(frozen=True, slots=True)
class Facts:
    """What filters look at of a run: (key, number, text) of each config value, and its tags."""

    run_id: UUID
    values: Sequence[tuple[str, float | None, str]]
    tags: Sequence[str]


async def add_facts(session: AsyncSession, facts: Sequence[Facts]) -> None:
    """What filters look at: config values and tags of new runs, in a few statements."""
    keys = {key for each in facts for key, _, _ in each.values}
    numbers = await numbers_of(session, ConfigKey, sorted(keys))
    values = [
        {"run_id": each.run_id, "key_id": numbers[key], "number": number, "text": text}
        for each in facts
        for key, number, text in each.values
    ]
    await execute_many(session, insert(table_of(ConfigValue)), values)
    tags = [
        {"run_id": each.run_id, "tag": tag} for each in facts for tag in dict.fromkeys(each.tags)
    ]
    await execute_many(session, insert(table_of(RunTag)), tags)


async def find_by_slug(session: AsyncSession, slug: str) -> Run | None:
    """A run with its experiment, config, cluster and attempts."""
    run: Run | None = await session.scalar(_loaded(select(Run).where(Run.slug == slug)))
    return run


class PushRow(NamedTuple):
    """What a push needs of a run; `attempt` is its newest one's number."""

    run_id: UUID
    slug: str
    project_id: UUID
    deleted_at: datetime | None
    attempt: int | None


async def find_for_push(session: AsyncSession, slug: str) -> PushRow | None:
    newest = select(func.max(Attempt.number)).where(Attempt.run_id == Run.id).scalar_subquery()
    query = select(Run.id, Run.slug, Run.project_id, Run.deleted_at, newest)
    row = (await session.execute(query.where(Run.slug == slug))).first()
    return None if row is None else PushRow(*row)


async def list_by_slug(session: AsyncSession, slugs: Sequence[str]) -> Sequence[Run]:
    """The runs of these slugs, in no order and without relations."""
    return (await session.scalars(select(Run).where(Run.slug.in_(slugs)))).all()


class RunBrief(NamedTuple):
    """What reading many runs' series wants of each."""

    id: UUID
    slug: str
    project_id: UUID
    metrics_revision: int
    created_at: datetime
    started_at: datetime | None


class Revisions(NamedTuple):
    """Some runs of a project: how many there are, and the sum of their metrics' revisions."""

    project_id: UUID
    runs: int
    total: int


# Made once: asked again every few seconds by each open chart.
_RUNS = table_of(Run).c
_IS_ASKED = _RUNS.slug.in_(bindparam("slugs", expanding=True))
_BRIEFS = select(*(_RUNS[name] for name in RunBrief._fields)).where(_IS_ASKED)
_REVISIONS = (
    select(_RUNS.project_id, func.count(), func.sum(_RUNS.metrics_revision))
    .where(_IS_ASKED)
    .group_by(_RUNS.project_id)
)


async def list_briefs(session: AsyncSession, slugs: Sequence[str]) -> list[RunBrief]:
    """The runs of these slugs, in no order."""
    return [RunBrief(*row) for row in await session.execute(_BRIEFS, {"slugs": slugs})]


async def list_revisions(session: AsyncSession, slugs: Sequence[str]) -> list[Revisions]:
    """Where the metrics of these runs stand, by project."""
    return [Revisions(*row) for row in await session.execute(_REVISIONS, {"slugs": slugs})]


async def lock_by_slug(session: AsyncSession, slugs: Sequence[str]) -> Sequence[Run]:
    """The same, held until the transaction ends."""
    query = select(Run).where(Run.slug.in_(slugs)).order_by(Run.id).with_for_update()
    return (await session.scalars(query.execution_options(populate_existing=True))).all()


async def replace_tag(
    session: AsyncSession, tags: Sequence[str], run_ids: Sequence[UUID], *, is_set: bool
) -> None:
    """Gives the runs these tags, or takes them away, as far as filters look at them."""
    await session.execute(
        delete(RunTag).where(RunTag.run_id.in_(run_ids), RunTag.tag.in_(tags)),
        execution_options={"synchronize_session": False},
    )
    if is_set:
        pairs = [{"run_id": run_id, "tag": tag} for run_id in run_ids for tag in tags]
        await execute_many(session, insert(table_of(RunTag)), pairs)


async def list_loaded(session: AsyncSession, run_ids: Sequence[UUID]) -> list[Run]:
    """The runs in the order of their ids, with experiment, config, cluster and attempts."""
    runs = await session.scalars(_loaded(select(Run).where(Run.id.in_(run_ids))))
    found = {run.id: run for run in runs}
    return [found[run_id] for run_id in run_ids if run_id in found]


def shown(
    *,
    projects: frozenset[UUID] | None,
    experiment_id: UUID | None = None,
    sweep: str = "",
    text: str = "",
    statuses: Sequence[RunStatus] = (),
    is_archived: bool | None = None,
    is_pinned: bool | None = None,
) -> ColumnElement[bool]:
    """Whether a run is in a list: in `projects`, not deleted, and as narrowed.

    `sweep` is a sweep's slug. `text` is searched for in the name, the slug and the experiment's
    name.
    """
    parts: list[ColumnElement[bool]] = [Run.deleted_at.is_(None)]
    if projects is not None:
        parts.append(Run.project_id.in_(projects))
    if experiment_id is not None:
        parts.append(Run.experiment_id == experiment_id)
    if sweep:
        its_id = select(Sweep.id).where(Sweep.slug == sweep).scalar_subquery()
        parts.append(Run.sweep_id == its_id)
    if text:
        named = select(Experiment.id).where(Experiment.name.icontains(text, autoescape=True))
        found = (column.icontains(text, autoescape=True) for column in (Run.name, Run.slug))
        parts.append(or_(*found, Run.experiment_id.in_(named)))
    if statuses:
        parts.append(Run.status.in_(statuses))
    for wanted, column in ((is_archived, Run.archived_at), (is_pinned, Run.pinned_at)):
        if wanted is not None:
            parts.append(column.is_not(None) if wanted else column.is_(None))
    return and_(*parts)


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
    query = (
        select(MetricSeries)
        .join(MetricSeries.metric_key)
        .where(MetricSeries.run_id.in_(run_ids), MetricKey.name.in_(keys))
    )
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
        and_(ConfigKey.name == key, ConfigValue.text.in_(_spellings(path)))
        for key, path in paths.items()
    ]
    query = (
        select(Run.id, Run.name, ConfigKey.name, ConfigValue.text)
        .join(ConfigValue, ConfigValue.run_id == Run.id)
        .join(ConfigKey, ConfigKey.id == ConfigValue.key_id)
        .where(
            ConfigValue.text != "",
            or_(*same),
            Run.cluster_id == cluster_id,
            Run.status.not_in(ENDED),
        )
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


def _spellings(path: str) -> tuple[str, str]:
    bare = path.rstrip("/")
    return bare[:_VALUE_LENGTH], f"{bare}/"[:_VALUE_LENGTH]


def _loaded(query: Any) -> Any:
    return query.options(
        selectinload(Run.experiment).joinedload(Experiment.project, innerjoin=True),
        selectinload(Run.config),
        selectinload(Run.cluster),
        selectinload(Run.attempts),
        selectinload(Run.sweep),
    )
