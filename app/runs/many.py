"""Runs made, stopped and resumed together, in a number of queries that does not grow with them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app.access.principal import Actor
from app.audit.actions import Action
from app.clock import utcnow
from app.models import Cluster, Config, DesiredStatus, Experiment, Run, RunStatus
from app.recipes.model import JOB
from app.runs import launch_checks, repository, rows
from app.runs.states import ENDED, created, transition

_STOP, _RESUME = "stop_requested", "resume_requested"


@dataclass(frozen=True, slots=True)
class Planned:
    """A run to be made: its config is checked and complete, and in no session yet."""

    name: str
    config: Config


async def create_all(
    session: AsyncSession,
    experiment: Experiment,
    planned: Sequence[Planned],
    *,
    cluster: Cluster,
    sweep_id: UUID,
    actor: Actor,
    tags: Sequence[str] = (),
) -> list[Run]:
    """Queues the runs of a sweep in their order; all of them or, where one is refused, none.

    Raises `Invalid` for what the cluster or the project refuses, as `runs.service.create` does.
    """
    made = []
    for number, each in enumerate(planned, start=1):
        run = rows.new_run(experiment, each.config, actor=actor, name=each.name, tags=tags)
        run.cluster_id, run.sweep_id, run.sweep_number = cluster.id, sweep_id, number
        made.append(run)
    for each in _of_different_jobs(planned):
        await launch_checks.check_launch(session, made[0], each.config, cluster)
    session.add_all(each.config for each in planned)
    await session.flush()
    session.add_all(made)
    await session.flush()
    await rows.add_values(
        session, ((run, each.config) for run, each in zip(made, planned, strict=True))
    )
    for run in made:
        session.add(created(run, at=run.created_at, actor=actor.name))
        rows.record(session, actor, Action.RUN_CREATE, run)
    await session.flush()
    return made


async def stop_all(session: AsyncSession, sweep_id: UUID, *, actor: Actor) -> int:
    """Asks for each run of a sweep that has not ended to be stopped; returns for how many."""
    found = [
        run
        for run in await repository.lock_sweep(session, sweep_id)
        if run.status not in ENDED and run.desired_status is not DesiredStatus.STOP
    ]
    before = [rows.fields(run) for run in found]
    await _wish(session, found, DesiredStatus.STOP, actor=actor)
    for run, earlier in zip(found, before, strict=True):
        rows.record(session, actor, Action.RUN_STOP, run, earlier)
    return len(found)


async def resume_all(session: AsyncSession, sweep_id: UUID, *, actor: Actor) -> int:
    """Queues each run of a sweep that failed, was stopped or was lost; returns how many.

    Deleted runs stay. Raises `Conflict` if the cluster may not run one of them any more.
    """
    now = utcnow()
    resumable = ENDED - {RunStatus.SUCCEEDED}
    found = [
        run
        for run in await repository.lock_sweep(session, sweep_id)
        if run.status in resumable and run.deleted_at is None
    ]
    for run in found:
        launch_checks.require_allowed(run)
    before = [rows.fields(run) for run in found]
    await _wish(session, found, DesiredStatus.RUN, actor=actor)
    for run, earlier in zip(found, before, strict=True):
        session.add(transition(run, RunStatus.QUEUED, at=now, actor=actor.name, reason=_RESUME))
        run.due_at = now
        rows.record(session, actor, Action.RUN_RESUME, run, earlier)
    await session.flush()
    return len(found)


async def _wish(
    session: AsyncSession, found: Sequence[Run], desired: DesiredStatus, *, actor: Actor
) -> None:
    reason = _STOP if desired is DesiredStatus.STOP else _RESUME
    await repository.set_desired_all(session, [run.id for run in found], desired)
    session.add_all(rows.wish_note(run, desired, actor=actor, reason=reason) for run in found)


def _of_different_jobs(planned: Sequence[Planned]) -> list[Planned]:
    """One for each way to run the job: of a config, cluster and project ask for nothing else."""
    found: dict[str, Planned] = {}
    for each in planned:
        job = {key: value for key, value in each.config.values.items() if key.startswith(JOB)}
        found.setdefault(json.dumps(job, sort_keys=True), each)
    return list(found.values())
