"""JSON API of sweeps: look at one before it is made, make it, read it, stop and resume it."""

from typing import Annotated

from fastapi import Query
from sqlalchemy.ext.asyncio import AsyncSession

from app.access.permissions import Permission
from app.access.principal import Principal
from app.api.deps import (
    DEFAULT_LIMIT,
    ExperimentReader,
    IdCursor,
    Limit,
    Reading,
    Store,
    SweepReader,
    SweepWriter,
    Writer,
    Writing,
)
from app.api.idempotency import Idempotent
from app.api.json_bodies import JsonRoute
from app.api.schemas import Listing
from app.experiments import service as experiments
from app.metrics import service as metrics
from app.models import Sweep
from app.projects import service as projects
from app.routing import Router
from app.runs import service as runs
from app.sweeps import service
from app.sweeps.schemas import PlanAnswer, PreviewBody, SweepAnswer, SweepBody, run_answer
from app.sweeps.service import Subject

router = Router(tags=["sweeps"], route_class=JsonRoute)


@router.post("/sweeps/preview")
async def preview_sweep(body: PreviewBody, caller: Writer, store: Store) -> PlanAnswer:
    """The config of each run with what its recipe says of it. Changes nothing."""
    async with store.read() as session:
        subject = await _subject(session, body, caller)
        await service.refuse_secrets(session, subject, body.request())
    return PlanAnswer.of(await service.plan(subject, body.request()), subject.cluster)


@router.post("/sweeps", status_code=201)
async def create_sweep(
    body: SweepBody, caller: Writer, store: Store, once: Idempotent
) -> SweepAnswer:
    """Makes a sweep and queues all its runs; where one config has an error, makes nothing."""
    request = body.request()
    # Checking takes a while for many configs; nobody should wait for the lock meanwhile.
    async with store.read() as session:
        subject = await _subject(session, body, caller)
        await service.refuse_secrets(session, subject, request)
    plan = await service.plan(subject, request)
    async with store.write() as session:

        async def make() -> SweepAnswer:
            # The version that was planned, though a newer one was saved meanwhile.
            now = await _subject(session, body, caller, version=subject.config.version)
            made = await service.create(session, now, request, plan, actor=caller.actor)
            return await _answer(session, await service.get(session, made.slug))

        return await once.create(session, caller, make, answer=SweepAnswer)


@router.get("/sweeps")
async def list_sweeps(
    caller: ExperimentReader,
    session: Reading,
    project: Annotated[str | None, Query(description="Only sweeps of this project")] = None,
    experiment: Annotated[str | None, Query(description="Only sweeps of this experiment")] = None,
    limit: Limit = DEFAULT_LIMIT,
    cursor: IdCursor = None,
) -> Listing[SweepAnswer]:
    """Those of your projects, newest first."""
    home = await experiments.get(session, experiment) if experiment else None
    page = await service.list_page(
        session,
        projects=await projects.narrow(session, caller, project),
        experiment=home,
        limit=limit,
        cursor=cursor,
    )
    counts = await service.count_statuses(session, page.items)
    items = [SweepAnswer.of(sweep, counts.get(sweep.id, {})) for sweep in page.items]
    return Listing(items=items, next_cursor=page.next_cursor)


@router.get("/sweeps/{sweep_id}")
async def get_sweep(sweep_id: str, _caller: SweepReader, session: Reading) -> SweepAnswer:
    """A sweep with its runs: their values of the sweep's keys beside their results."""
    return await _answer(session, await service.get(session, sweep_id))


@router.post("/sweeps/{sweep_id}/stop")
async def stop_sweep(sweep_id: str, caller: SweepWriter, session: Writing) -> SweepAnswer:
    """Asks for all its runs to be stopped; queued ones never start. Again: changes nothing."""
    sweep = await service.get(session, sweep_id)
    await service.stop(session, sweep, actor=caller.actor)
    return await _answer(session, sweep)


@router.post("/sweeps/{sweep_id}/resume")
async def resume_sweep(sweep_id: str, caller: SweepWriter, session: Writing) -> SweepAnswer:
    """Queues again all its runs that failed, were stopped or lost."""
    sweep = await service.get(session, sweep_id)
    await service.resume(session, sweep, actor=caller.actor)
    return await _answer(session, sweep)


async def _subject(
    session: AsyncSession, body: PreviewBody, caller: Principal, *, version: int | None = None
) -> Subject:
    experiment = await experiments.get(session, body.experiment)
    caller.require(Permission.WRITE, experiment.project_id, what=f"experiment {experiment.slug}")
    wanted = body.version if version is None else version
    return await service.subject(session, experiment, version=wanted, cluster=body.cluster)


async def _answer(session: AsyncSession, sweep: Sweep) -> SweepAnswer:
    found = await service.list_runs(session, sweep)
    counts = await service.count_statuses(session, [sweep])
    summaries = await runs.summaries(session, found, [metrics.SOLVE_RATE])
    best = {run_id: by_key[metrics.SOLVE_RATE].best for run_id, by_key in summaries.items()}
    answers = [run_answer(sweep, run, best.get(run.id)) for run in found]
    return SweepAnswer.of(sweep, counts.get(sweep.id, {}), answers)
