"""Tracking as MLflow's clients want it, on our experiments, runs and series.

A token that belongs to a run knows no other: whatever run its client means to start, it gets that
run, and its points are of the attempt that the token was made for.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app.access.permissions import Permission
from app.access.principal import Principal
from app.audit import service as audit
from app.audit.actions import Action
from app.audit.service import Target
from app.errors import Conflict, Forbidden, Invalid, NotFound, Problem
from app.experiments import service as experiments
from app.metrics import service as metrics
from app.metrics.columns import Columns
from app.metrics.push import check_key
from app.metrics.service import PushPlace
from app.models import Experiment, MetricSeries, Run, RunStatus
from app.projects import service as projects
from app.runs import service as runs
from app.runs.states import ENDED
from app.secrets import service as secrets
from app.tracking import entities, repository
from app.tracking.repository import PARAM, TAG

MAX_VALUE = 20_000
_MAX_ENTRIES = 20_000


class ExperimentExists(Conflict):
    """There is an experiment of that name already."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What a client logs at once."""

    metrics: Mapping[str, Columns] = field(default_factory=dict)
    params: Mapping[str, str] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Tracked:
    """A run with all that a client may ask of it."""

    run: Run
    series: Sequence[MetricSeries]
    params: Mapping[str, str]
    tags: Mapping[str, str]

    def json(self) -> dict[str, Any]:
        return entities.run(self.run, series=self.series, params=self.params, tags=self.tags)


async def get_experiment(session: AsyncSession, caller: Principal, slug: str) -> Experiment:
    """Raises `NotFound`."""
    if caller.only_run is not None:
        return (await _own_run(session, caller)).experiment
    found = await experiments.get(session, slug)
    caller.require(Permission.READ, found.project_id, what=f"experiment {slug}")
    return found


async def find_experiment(session: AsyncSession, caller: Principal, name: str) -> Experiment:
    """By its name, in the project that the caller writes to. Raises `NotFound`."""
    if caller.only_run is not None:
        return (await _own_run(session, caller)).experiment
    home = await projects.choose(session, caller, None)
    found = await experiments.find_by_name(session, home, name)
    if found is None:
        raise NotFound(f"there is no experiment {name}")
    return found


async def create_experiment(session: AsyncSession, caller: Principal, name: str) -> Experiment:
    """Raises `ExperimentExists` where there is one of that name."""
    if caller.only_run is not None:
        return (await _own_run(session, caller)).experiment
    home = await projects.choose(session, caller, None)
    if await experiments.find_by_name(session, home, name) is not None:
        raise ExperimentExists(f"there is an experiment {name} already")
    return await experiments.find_or_create_by_name(session, home, name, actor=caller.actor)


async def create_run(
    session: AsyncSession, caller: Principal, *, experiment: str, name: str, batch: Batch
) -> Tracked:
    """A new external run; the token's own run where it belongs to one."""
    if caller.only_run is not None:
        run = await _own_run(session, caller)
    else:
        home = await get_experiment(session, caller, experiment)
        caller.require(Permission.WRITE, home.project_id)
        run = await runs.create_external(
            session,
            project=home.project,
            name=name or home.name,
            actor=caller.actor,
            experiment=home.name,
        )
    await _set(session, caller, run, batch)
    return await _tracked(session, run)


async def get_run(session: AsyncSession, caller: Principal, slug: str) -> Tracked:
    return await _tracked(session, await _run(session, caller, slug, Permission.READ))


async def update_run(
    session: AsyncSession, caller: Principal, slug: str, *, status: str, name: str
) -> Run:
    """Ends an external run. What a worker runs ends as the worker sees it end."""
    run = await _run(session, caller, slug, Permission.WRITE)
    wanted = entities.ENDS.get(status)
    if name and caller.only_run is None and name != run.name:
        await secrets.refuse_values(session, [run.project_id], {"run_name": name})
        run.name = runs.checked_name(name)
    if wanted is None or entities.is_ours(run) or run.status in ENDED:
        return run
    return await runs.finish_external(session, run, RunStatus(wanted), actor=caller.actor)


async def log(session: AsyncSession, caller: Principal, slug: str, batch: Batch) -> None:
    """Stores all of a batch, or nothing."""
    run: Run | None = None
    if caller.only_run is not None:
        run = await _own_run(session, caller)
        attempt = caller.only_run.attempt
        place = PushPlace(run.id, run.slug, run.project_id, attempt)
    else:
        place = await runs.get_for_push(session, slug)
        caller.require(Permission.WRITE, place.project_id, what=f"run {slug}")
        if batch.params or batch.tags:
            run = await runs.get(session, slug)
    if run is not None:
        await _set(session, caller, run, batch)
    if batch.metrics:
        await metrics.push(session, place, batch.metrics, actor=caller.actor)


async def delete_tag(session: AsyncSession, caller: Principal, slug: str, key: str) -> None:
    run = await _run(session, caller, slug, Permission.WRITE)
    await _note(session, caller, run)
    await repository.delete_tag(session, run.id, key)


async def delete_run(session: AsyncSession, caller: Principal, slug: str) -> None:
    """A token of one run deletes nothing."""
    if caller.only_run is not None:
        raise Forbidden("a token of one run does not delete it")
    run = await _run(session, caller, slug, Permission.WRITE)
    await runs.delete(session, run, actor=caller.actor)


async def restore_run(session: AsyncSession, caller: Principal, slug: str) -> None:
    if caller.only_run is not None:
        raise Forbidden("a token of one run does not restore it")
    run = await _run(session, caller, slug, Permission.WRITE)
    await runs.restore(session, run, actor=caller.actor)


async def history(
    session: AsyncSession, caller: Principal, slug: str, key: str
) -> metrics.LoadedSeries:
    """All points of a metric, to be unpacked without a session."""
    run = await _run(session, caller, slug, Permission.READ)
    return await metrics.load_series(session, [run], [key])


async def search_runs(
    session: AsyncSession,
    caller: Principal,
    experiment_slugs: Sequence[str],
    *,
    filter_text: str,
    sort: str,
    limit: int,
    cursor: str | None,
) -> tuple[list[Tracked], str | None]:
    """Runs of one experiment, or of all that may be read, with where the next page starts."""
    if caller.only_run is not None:
        return [await _tracked(session, await _own_run(session, caller))], None
    home = None
    if len(experiment_slugs) == 1:
        home = await get_experiment(session, caller, experiment_slugs[0])
    page = await runs.list_page(
        session,
        projects=caller.projects(Permission.READ),
        limit=limit,
        cursor=cursor,
        sort=sort,
        filter_text=filter_text,
        experiment=home,
    )
    return await _tracked_all(session, page.items), page.next_cursor


async def list_experiments(
    session: AsyncSession, caller: Principal, *, limit: int, cursor: str | None
) -> tuple[Sequence[Experiment], str | None]:
    if caller.only_run is not None:
        return [(await _own_run(session, caller)).experiment], None
    page = await experiments.list_page(
        session, projects=caller.projects(Permission.READ), limit=limit, cursor=cursor
    )
    return page.items, page.next_cursor


async def _run(session: AsyncSession, caller: Principal, slug: str, permission: Permission) -> Run:
    if caller.only_run is not None:
        return await _own_run(session, caller)
    run = await runs.get(session, slug)
    caller.require(permission, run.project_id, what=f"run {slug}")
    return run


async def _own_run(session: AsyncSession, caller: Principal) -> Run:
    assert caller.only_run is not None
    slug = await repository.find_run_slug(session, caller.only_run.run_id)
    if slug is None:
        raise NotFound("the run of this token is gone")
    return await runs.get(session, slug)


async def _note(session: AsyncSession, caller: Principal, run: Run) -> None:
    target = Target("run", run.slug, run.project_id)
    await audit.record_daily(session, caller.actor, Action.RUN_PUSH, target)


async def _set(session: AsyncSession, caller: Principal, run: Run, batch: Batch) -> None:
    """Params are set once, as MLflow has it, and tags again and again.

    A job sets its params again after a resume, where its config may say something else: what the
    newest attempt says counts, since a client that is refused would end the training.
    """
    if not batch.params and not batch.tags:
        return
    if run.deleted_at is not None:
        raise Conflict(f"run {run.slug} is deleted: restore it before logging to it")
    await _note(session, caller, run)
    texts = {"params": dict(batch.params), "tags": dict(batch.tags)}
    await secrets.refuse_values(session, [run.project_id], texts)
    for kind, values in ((PARAM, batch.params), (TAG, batch.tags)):
        for key, value in values.items():
            check_key(key)
            if len(value) > MAX_VALUE or "\0" in value:
                message = (
                    f"{kind} {key[:60]!r} has more than {MAX_VALUE:,} characters, or a zero byte"
                )
                raise Invalid(message, [Problem(key[:60], "length", message)])
    known = (await repository.entries_of(session, [run.id]))[run.id]
    is_job = caller.only_run is not None
    for key, value in batch.params.items():
        if not is_job and known[PARAM].get(key, value) != value:
            message = f"param {key[:60]!r} is {known[PARAM][key][:60]!r}: it does not change"
            raise Invalid(message, [Problem(key[:60], "unchanging", message)])
    new = {key: value for key, value in batch.params.items() if key not in known[PARAM]}
    if len(known[PARAM]) + len(known[TAG]) + len(new) + len(batch.tags) > _MAX_ENTRIES:
        message = f"a run has at most {_MAX_ENTRIES:,} params and tags"
        raise Invalid(message, [Problem("params", "too_many", message)])
    changed = dict(batch.params) if is_job else new
    await repository.set_entries(session, run.id, PARAM, changed)
    await repository.set_entries(session, run.id, TAG, batch.tags)
    if new and not entities.is_ours(run):
        # What is frozen of another run is here what its own code says, piece by piece.
        await runs.extend_config(session, run, new)


async def _tracked(session: AsyncSession, run: Run) -> Tracked:
    return (await _tracked_all(session, [run]))[0]


async def _tracked_all(session: AsyncSession, found: Sequence[Run]) -> list[Tracked]:
    ids: list[UUID] = [run.id for run in found]
    entries = await repository.entries_of(session, ids)
    series = await metrics.list_series_of(session, ids)
    return [
        Tracked(run, series.get(run.id, []), entries[run.id][PARAM], entries[run.id][TAG])
        for run in found
    ]
