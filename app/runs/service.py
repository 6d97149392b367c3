"""Runs: created, listed, stopped, resumed; their events. Only workers write statuses later."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app.access.principal import Actor
from app.audit.actions import Action
from app.clock import utcnow
from app.clusters import service as clusters
from app.errors import Conflict, Invalid, NotFound, Problem
from app.experiments import service as experiments
from app.metrics.service import PushPlace
from app.models import (
    Cluster,
    ClusterKind,
    Config,
    DesiredStatus,
    Event,
    Experiment,
    MetricSeries,
    Project,
    Run,
    RunOrigin,
    RunStatus,
)
from app.names import checked_name as checked_name
from app.paging import Page, decode_id_cursor, page_of
from app.recipes import service as recipes
from app.runs import launch_checks, path_users, repository, rows
from app.runs.briefs import in_order
from app.runs.listing import NEWEST, Wanted, list_places
from app.runs.repository import Facts
from app.runs.states import ENDED, created, transition
from app.sharing import service as sharing

# Whole numbers beyond are names more often than numbers.
_LARGEST = 2**63


async def create(
    session: AsyncSession,
    experiment: Experiment,
    *,
    actor: Actor,
    cluster: str | None = None,
    overrides: Mapping[str, Any] | None = None,
    config: Mapping[str, Any] | None = None,
    yaml: str | None = None,
    name: str | None = None,
    tags: Sequence[str] = (),
    version: int | None = None,
) -> Run:
    """Queues a run of a version of the experiment's config, the newest unless told otherwise.

    `overrides` make an immutable config of this run only; so does `config`, which stands for all
    values and not only for those that differ, and which `yaml` was typed as. Raises `Invalid` for
    values the recipe or the cluster refuses and for secrets that are not there, `Conflict` if the
    experiment has no config or is archived, `NotFound` for the cluster and the version.
    """
    experiments.require_open(experiment)
    place = experiment.project_id
    given = config if config is not None else overrides or {}
    typed = {**given} if yaml is None else {**given, experiments.YAML: yaml}
    await launch_checks.check_texts(session, place, typed, name=name, tags=tags)
    base = await _base(session, experiment, version)
    is_whole = config is not None
    frozen = _config_for(experiment, base, given, is_whole=is_whole, yaml=yaml, actor=actor)
    session.add(frozen)
    await launch_checks.check_texts(session, place, frozen.values)
    is_embedded = not cluster or cluster == clusters.EMBEDDED
    target = await (
        clusters.ensure_embedded(session) if is_embedded else clusters.get(session, cluster or "")
    )
    _check_cluster(target, frozen)
    run = rows.new_run(experiment, frozen, actor=actor, name=name, tags=tags)
    run.cluster_id = target.id
    await launch_checks.check_launch(session, run, frozen, target)
    caution = await path_users.caution(session, run, frozen, target)
    return await _store(session, run, frozen, actor, caution)


async def create_external(
    session: AsyncSession,
    *,
    project: Project,
    name: str,
    actor: Actor,
    experiment: str | None = None,
    config: Mapping[str, Any] | None = None,
    tags: Sequence[str] = (),
) -> Run:
    """A run that somebody else executes, and that is fed by pushes; it is running at once."""
    home = await experiments.find_or_create_by_name(
        session, project, experiment or name, actor=actor
    )
    await launch_checks.check_texts(session, project.id, config or {}, name=name, tags=tags)
    run, frozen = rows.new_external(home, actor=actor, name=name, config=config or {}, tags=tags)
    session.add(frozen)
    return await _store(session, run, frozen, actor)


async def get(session: AsyncSession, slug: str) -> Run:
    """The run with experiment, config, cluster and attempts. Raises `NotFound`."""
    run = await repository.find_by_slug(session, slug)
    if run is None:
        raise NotFound(f"there is no run {slug}")
    return run


async def get_for_push(
    session: AsyncSession, slug: str, *, attempt: int | None = None
) -> PushPlace:
    """Where points that are pushed to a run go: its newest attempt, unless another is named.

    Raises `NotFound`, and `Conflict` for a deleted run.
    """
    found = await repository.find_for_push(session, slug)
    if found is None:
        raise NotFound(f"there is no run {slug}")
    if found.deleted_at is not None:
        raise Conflict(f"run {slug} is deleted: restore it before pushing to it")
    return PushPlace(found.run_id, found.slug, found.project_id, attempt or found.attempt or 1)


async def get_many(session: AsyncSession, slugs: Sequence[str]) -> list[Run]:
    """The runs in the order of their slugs, in one query, without anything that belongs to them.

    Raises `NotFound`, naming the first that is missing.
    """
    return in_order(await repository.list_by_slug(session, slugs), slugs)


async def list_page(
    session: AsyncSession,
    *,
    projects: frozenset[UUID] | None,
    limit: int = 50,
    cursor: str | None = None,
    sort: str = NEWEST,
    filter_text: str = "",
    experiment: Experiment | None = None,
    sweep: str = "",
    text: str = "",
    statuses: Sequence[RunStatus] = (),
) -> Page[Run]:
    """Runs in `projects` (None: in all) that are not deleted, with experiment, project, config,
    cluster and attempts.

    `sweep` narrows to the runs of the sweep with that slug, `text` to runs whose name, slug or
    experiment's name contains it. `sort` is a column, `metric:<key>:<last|best|…>` or
    `config:<key>`, with `-` in front for descending; runs without a value come last. `filter_text`
    is of the filter language. Raises `Invalid`.
    """
    wanted = Wanted(
        projects=projects,
        sort=sort,
        filter=filter_text,
        experiment=experiment,
        sweep=sweep,
        text=text,
        statuses=statuses,
    )
    page = await list_places(session, wanted, limit=limit, cursor=cursor)
    found = await repository.list_loaded(session, [place.run_id for place in page.items])
    return Page(found, page.next_cursor)


async def count(session: AsyncSession, *, projects: frozenset[UUID] | None) -> int:
    """How many runs there are in `projects` (None: in all), without deleted ones."""
    return await repository.count_runs(session, projects=projects)


async def summaries(
    session: AsyncSession, runs: Sequence[Run], keys: Sequence[str]
) -> dict[UUID, dict[str, MetricSeries]]:
    """Summaries of some keys by run id, in one query."""
    return await repository.summaries_of(session, [run.id for run in runs], keys)


async def pushed_steps(session: AsyncSession, runs: Sequence[Run]) -> dict[UUID, int]:
    """The highest step that was pushed to each external run, by run id, in at most one query."""
    external = [run.id for run in runs if run.origin is RunOrigin.EXTERNAL]
    return await repository.last_steps(session, external) if external else {}


async def list_of_sweep(session: AsyncSession, sweep_id: UUID) -> Sequence[Run]:
    """The runs of a sweep by number, without deleted ones, loaded as `list_page` does."""
    return await repository.list_of_sweep(session, sweep_id)


async def count_by_sweep(
    session: AsyncSession, sweep_ids: Sequence[UUID]
) -> dict[UUID, dict[RunStatus, int]]:
    """Numbers of runs by status, by sweep id, in one query; deleted ones do not count."""
    return await repository.count_by_sweep(session, sweep_ids)


async def count_by_experiment(
    session: AsyncSession, experiments: Sequence[Experiment]
) -> dict[UUID, int]:
    """Numbers of runs by experiment id, in one query; experiments without runs are left out."""
    return await repository.count_by_experiment(session, [row.id for row in experiments])


async def count_by_version(session: AsyncSession, experiment: Experiment) -> dict[int, int]:
    """Numbers of runs by the config version they run, with or without overrides, in one query."""
    return await repository.count_by_version(session, experiment.id)


async def list_events(
    session: AsyncSession,
    run: Run,
    *,
    limit: int = 200,
    cursor: str | None = None,
    newest_first: bool = False,
) -> Page[Event]:
    """Oldest first unless told otherwise. Raises `Invalid` for a cursor of another list."""
    place = decode_id_cursor(cursor) if cursor else None
    found = await repository.list_events(
        session, run.id, beyond=place, limit=limit + 1, newest_first=newest_first
    )
    return page_of(found, limit, lambda event: [str(event.id)])


async def request_stop(session: AsyncSession, run: Run, *, actor: Actor) -> Run:
    """Writes the wish; a worker carries it out. Asking again changes nothing.

    Raises `Conflict` if the run has ended, or is executed by somebody else.
    """
    await repository.lock(session, run)
    if run.origin is RunOrigin.EXTERNAL:
        raise Conflict(
            f"run {run.slug} runs outside Skydeck: end it there, then finish it here, with "
            f"`skydeck run finish {run.slug}` or POST /api/v1/runs/{run.slug}/finish"
        )
    if run.status in ENDED:
        raise Conflict(f"run {run.slug} has ended already ({run.status})")
    if run.desired_status is not DesiredStatus.STOP:
        before = rows.fields(run)
        await _wish(session, run, DesiredStatus.STOP, actor=actor, reason="stop_requested")
        rows.record(session, actor, Action.RUN_STOP, run, before)
    return run


async def request_resume(session: AsyncSession, run: Run, *, actor: Actor) -> Run:
    """Queues a next attempt that resumes from the newest checkpoint.

    Raises `Conflict` unless the run failed, was stopped or was lost on a cluster of ours, while it
    is deleted, and if its cluster may not run it any more.
    """
    await repository.lock(session, run)
    if run.deleted_at is not None:
        raise Conflict(f"run {run.slug} is deleted: restore it before resuming it")
    resumable = ENDED - {RunStatus.SUCCEEDED}
    if run.origin is RunOrigin.EXTERNAL or run.status not in resumable:
        raise Conflict(
            f"run {run.slug} is {run.status}: only a failed, stopped or lost run resumes"
        )
    await launch_checks.check_resume(session, run)
    before, now = rows.fields(run), utcnow()
    await _wish(session, run, DesiredStatus.RUN, actor=actor, reason="resume_requested")
    session.add(
        transition(run, RunStatus.QUEUED, at=now, actor=actor.name, reason="resume_requested")
    )
    run.due_at = now
    rows.record(session, actor, Action.RUN_RESUME, run, before)
    return run


async def finish_external(
    session: AsyncSession, run: Run, status: RunStatus, *, actor: Actor
) -> Run:
    """Ends a run that is fed by pushes. Raises `Conflict` for any other run or status."""
    await repository.lock(session, run)
    if run.origin is not RunOrigin.EXTERNAL or run.status in ENDED:
        raise Conflict(f"run {run.slug} cannot be finished: it is {run.status}, {run.origin}")
    if status not in ENDED:
        message = f"a run finishes as one of {', '.join(sorted(ENDED))}"
        raise Invalid(message, [Problem("status", "choices", message)])
    before = rows.fields(run)
    session.add(transition(run, status, at=utcnow(), actor=actor.name, reason="reported"))
    rows.record(session, actor, Action.RUN_FINISH, run, before)
    return run


async def extend_config(session: AsyncSession, run: Run, values: Mapping[str, str]) -> None:
    """Adds values that an external run tells of itself while it goes on.

    Texts that are numbers count as such, for filters and orders. Its config is its own alone.
    """
    typed = {key: _typed(value) for key, value in values.items() if key not in run.config.values}
    config = run.config
    config.values = {**config.values, **typed}
    config.digest = experiments.digest(config.recipe, config.recipe_version, config.values)
    facts = Facts(run.id, list(recipes.flatten(typed)), ())
    await session.flush()
    await repository.add_facts(session, [facts])


def _typed(text: str) -> Any:
    """What a client of MLflow made text of."""
    if text in ("True", "False"):
        return text == "True"
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        return number if abs(number) < _LARGEST else text
    return text


async def delete(session: AsyncSession, run: Run, *, actor: Actor) -> Run:
    """Hides an ended run, and ends its share links; it can be restored.

    Raises `Conflict` while it is under way.
    """
    await repository.lock(session, run)
    if run.status not in ENDED:
        raise Conflict(f"run {run.slug} is {run.status}: stop it before deleting it")
    if run.deleted_at is None:
        before, run.deleted_at = rows.fields(run), utcnow()
        session.add(rows.note(run, actor=actor, kind="deleted", at=run.deleted_at))
        await sharing.revoke_all(session, run, actor=actor)
        rows.record(session, actor, Action.RUN_DELETE, run, before)
    return run


async def restore(session: AsyncSession, run: Run, *, actor: Actor) -> Run:
    """Undoes `delete`."""
    await repository.lock(session, run)
    if run.deleted_at is not None:
        before, run.deleted_at = rows.fields(run), None
        session.add(rows.note(run, actor=actor, kind="restored", at=utcnow()))
        rows.record(session, actor, Action.RUN_RESTORE, run, before)
    return run


async def _base(session: AsyncSession, experiment: Experiment, version: int | None) -> Config:
    if version is None and await experiments.newest_config(session, experiment) is None:
        raise Conflict(f"experiment {experiment.slug} has no config to run: its runs are external")
    return await experiments.get_version(session, experiment, version)


def _config_for(
    experiment: Experiment,
    base: Config,
    given: Mapping[str, Any],
    *,
    is_whole: bool,
    yaml: str | None,
    actor: Actor,
) -> Config:
    """The version itself, or a config of one run where its values are others."""
    if not given and not is_whole:
        return base
    values = recipes.resolve(base.recipe, given if is_whole else {**base.values, **given})
    if is_whole and values == base.values:
        return base
    return experiments.make_config(
        experiment,
        base.recipe,
        values,
        version=None,
        base_version=base.version,
        actor=actor,
        yaml=yaml,
    )


def _check_cluster(cluster: Cluster, config: Config) -> None:
    refusal = recipes.embedded_refusal(recipes.get(config.recipe))
    if refusal is not None and cluster.kind is ClusterKind.EMBEDDED:
        message = f"{refusal.message}: {refusal.fix}"
        raise Invalid(message, [Problem("cluster", refusal.rule, message)])


async def _store(
    session: AsyncSession, run: Run, config: Config, actor: Actor, caution: str = ""
) -> Run:
    session.add(run)
    await session.flush()
    await rows.add_values(session, [(run, config)])
    session.add(created(run, at=run.created_at, actor=actor.name, message=caution))
    rows.record(session, actor, Action.RUN_CREATE, run)
    await session.flush()
    return await get(session, run.slug)


async def _wish(
    session: AsyncSession, run: Run, desired: DesiredStatus, *, actor: Actor, reason: str
) -> None:
    await repository.set_desired(session, run.id, desired)
    await session.refresh(run, ["desired_status"])
    session.add(rows.wish_note(run, desired, actor=actor, reason=reason))
