"""Sweeps: planned, made with all their runs or not at all, stopped and resumed as one."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app.access.principal import Actor
from app.audit import service as audit
from app.audit.actions import Action
from app.audit.service import Target
from app.clock import utcnow
from app.clusters import service as clusters
from app.errors import Invalid, NotFound, Problem
from app.experiments import service as experiments
from app.ids import new_id, new_slug
from app.models import Cluster, ClusterKind, Config, Experiment, Run, RunStatus, Sweep, SweepKind
from app.names import checked_name
from app.paging import Page, decode_id_cursor, page_of
from app.recipes import service as recipes
from app.recipes.model import Finding
from app.runs import many, policy
from app.runs import service as runs
from app.runs.path_users import list_path_users
from app.secrets import service as secrets
from app.sweeps import expansion, repository
from app.sweeps.expansion import MAX_RUNS, Space
from app.sweeps.planning import Basis, Plan, PlannedRun, require_ok
from app.sweeps.planning import plan as make_plan

__all__ = [
    "MAX_RUNNING",
    "MAX_RUNS",
    "Plan",
    "PlannedRun",
    "Request",
    "Subject",
    "cluster_gpus",
    "count_statuses",
    "create",
    "get",
    "list_page",
    "list_runs",
    "offered",
    "plan",
    "refuse_secrets",
    "require_ok",
    "resume",
    "stop",
    "subject",
]

MAX_RUNNING = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A sweep that is asked for. `exclude` are numbers of runs that are not to be made."""

    space: Space
    exclude: Collection[int] = ()
    name: str | None = None
    max_running_runs: int = 4
    tags: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What a sweep is of: a version of an experiment, for a cluster."""

    experiment: Experiment
    config: Config
    cluster: Cluster
    other_runs: Sequence[recipes.OtherRun] = ()
    """Unfinished ones that write to the paths of the config."""


async def subject(
    session: AsyncSession,
    experiment: Experiment,
    *,
    version: int | None = None,
    cluster: str | None = None,
) -> Subject:
    """The newest version and the embedded cluster unless told otherwise.

    Raises `NotFound` for a version or a cluster that is not there.
    """
    config = await experiments.get_version(session, experiment, version)
    if cluster in (None, clusters.EMBEDDED):
        found = await _embedded(session)
    else:
        found = await clusters.get(session, cluster or "")
    others = await list_path_users(
        session,
        recipes.get(config.recipe),
        config.values,
        found,
        projects=frozenset({experiment.project_id}),
    )
    return Subject(experiment=experiment, config=config, cluster=found, other_runs=others)


async def offered(session: AsyncSession) -> list[Cluster]:
    """The clusters to choose from; the embedded one, though nobody started it yet."""
    return list(await clusters.list_all(session)) or [clusters.not_yet_started()]


def cluster_gpus(cluster: Cluster) -> int | None:
    """How many GPUs it has; None while nobody has seen its nodes."""
    if cluster.kind is ClusterKind.EMBEDDED:
        return 0
    nodes = clusters.gpus_by_node(cluster)
    return sum(nodes) if nodes else None


async def plan(subject: Subject, request: Request) -> Plan:
    """The config of each run, checked; in a thread, without the database."""
    cluster, recipe = subject.cluster, subject.config.recipe

    def refuse(values: Mapping[str, Any]) -> list[Finding]:
        return [
            Finding(rule=each.rule, fields=(each.field,), message=each.message, fix=each.fix)
            for each in policy.barriers(cluster, recipe, values)
        ]

    basis = Basis(
        recipe=recipe,
        values=subject.config.values,
        place=policy.place_on(cluster, subject.other_runs),
        refuse=refuse,
    )
    return await asyncio.to_thread(make_plan, basis, request.space, frozenset(request.exclude))


async def refuse_secrets(session: AsyncSession, subject: Subject, request: Request) -> None:
    """Raises `Invalid` if what was typed holds the value of a secret, which no answer may show."""
    texts: dict[str, Any] = {"name": request.name, "tags": request.tags}
    texts |= {"space": expansion.as_json(request.space), **subject.config.values}
    await secrets.refuse_values(session, [subject.experiment.project_id], texts)


async def create(
    session: AsyncSession, subject: Subject, request: Request, plan: Plan, *, actor: Actor
) -> Sweep:
    """Makes a sweep and queues its runs in the order of the plan: all of them or none.

    Raises `Invalid` with all problems of the plan, and for what cluster or project refuse;
    `Conflict` if the experiment is archived.
    """
    experiments.require_open(subject.experiment)
    await refuse_secrets(session, subject, request)
    require_ok(plan)
    cluster = await _stored(session, subject.cluster)
    sweep = await _new_sweep(session, subject, request, plan, actor)
    made = await many.create_all(
        session,
        subject.experiment,
        [many.Planned(run.name, _config_of(subject, run, actor)) for run in plan.chosen],
        cluster=cluster,
        sweep_id=sweep.id,
        actor=actor,
        tags=request.tags,
    )
    _record(session, actor, Action.SWEEP_CREATE, sweep, {"runs": len(made)})
    await session.flush()
    return sweep


async def get(session: AsyncSession, slug: str) -> Sweep:
    """With experiment and config. Raises `NotFound`."""
    sweep = await repository.find_by_slug(session, slug)
    if sweep is None:
        raise NotFound(f"there is no sweep {slug}")
    return sweep


async def list_page(
    session: AsyncSession,
    *,
    projects: frozenset[UUID] | None,
    experiment: Experiment | None = None,
    limit: int = 50,
    cursor: str | None = None,
) -> Page[Sweep]:
    """Those in `projects` (None: in all), newest first."""
    rows = await repository.list_before(
        session,
        projects=projects,
        experiment_id=experiment.id if experiment else None,
        before=decode_id_cursor(cursor) if cursor else None,
        limit=limit + 1,
    )
    return page_of(rows, limit, lambda row: [str(row.id)])


async def list_runs(session: AsyncSession, sweep: Sweep) -> Sequence[Run]:
    """By number, without deleted ones."""
    return await runs.list_of_sweep(session, sweep.id)


async def count_statuses(
    session: AsyncSession, sweeps: Sequence[Sweep]
) -> dict[UUID, dict[RunStatus, int]]:
    """Numbers of runs by status, by sweep id, in one query."""
    return await runs.count_by_sweep(session, [sweep.id for sweep in sweeps])


async def stop(session: AsyncSession, sweep: Sweep, *, actor: Actor) -> int:
    """Asks for all its runs to be stopped; returns for how many that is new. Again: for none."""
    count = await many.stop_all(session, sweep.id, actor=actor)
    if count:
        _record(session, actor, Action.SWEEP_STOP, sweep, {"runs": count})
        await session.flush()
    return count


async def resume(session: AsyncSession, sweep: Sweep, *, actor: Actor) -> int:
    """Queues again all its runs that failed, were stopped or lost; returns how many.

    Raises `Conflict` if the cluster may not run them any more.
    """
    count = await many.resume_all(session, sweep.id, actor=actor)
    if count:
        _record(session, actor, Action.SWEEP_RESUME, sweep, {"runs": count})
        await session.flush()
    return count


async def _embedded(session: AsyncSession) -> Cluster:
    try:
        return await clusters.get(session, clusters.EMBEDDED)
    except NotFound:
        # A preview makes no rows; the sweep itself does.
        return clusters.not_yet_started()


async def _stored(session: AsyncSession, cluster: Cluster) -> Cluster:
    if cluster.slug == clusters.EMBEDDED:
        return await clusters.ensure_embedded(session)
    return await clusters.get(session, cluster.slug)


async def _new_sweep(
    session: AsyncSession, subject: Subject, request: Request, plan: Plan, actor: Actor
) -> Sweep:
    if not 1 <= request.max_running_runs <= MAX_RUNNING:
        message = f"a sweep runs 1 to {MAX_RUNNING} of its runs at a time"
        raise Invalid(message, [Problem("max_running_runs", "range", message)])
    space = expansion.as_json(request.space)
    sweep = Sweep(
        id=new_id(),
        slug=new_slug("swp"),
        name=checked_name(request.name or subject.experiment.name),
        project_id=subject.experiment.project_id,
        experiment_id=subject.experiment.id,
        config_id=subject.config.id,
        kind=SweepKind(space["kind"]),
        space=space,
        keys=list(plan.keys),
        max_running_runs=request.max_running_runs,
        owner=actor.name,
        created_at=utcnow(),
    )
    session.add(sweep)
    await session.flush()
    return sweep


def _config_of(subject: Subject, run: PlannedRun, actor: Actor) -> Config:
    assert run.values is not None
    base = subject.config
    return experiments.make_config(
        subject.experiment,
        base.recipe,
        run.values,
        version=None,
        base_version=base.version,
        actor=actor,
    )


def _record(
    session: AsyncSession, actor: Actor, action: Action, sweep: Sweep, details: dict[str, Any]
) -> None:
    target = Target("sweep", sweep.slug, sweep.project_id)
    audit.record(session, actor, action, target, details=details)
