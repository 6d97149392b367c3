"""JSON API of runs: launch, list, read, stop, resume, delete; runs that others execute."""

from typing import Annotated

from fastapi import Query
from sqlalchemy.ext.asyncio import AsyncSession

from app.api.deps import (
    DEFAULT_LIMIT,
    Cursor,
    ExperimentReader,
    ExperimentWriter,
    IdCursor,
    Limit,
    Reading,
    RunReader,
    RunWriter,
    Writer,
    Writing,
)
from app.api.idempotency import Idempotent
from app.api.json_bodies import JsonRoute
from app.api.schemas import Listing
from app.experiments import service as experiments
from app.metrics import service as metrics
from app.models import Run, RunOrigin
from app.projects import service as projects
from app.routing import Router
from app.runs import queue, service
from app.runs.schemas import EventAnswer, ExternalRunBody, FinishBody, RunAnswer, RunBody
from app.runs.sorting import parse_sort

router = Router(tags=["runs"], route_class=JsonRoute)

HEADLINE_KEYS = (metrics.SOLVE_RATE, "eval/all/pass_at_1", "reward/avg_raw_reward")
"""Whose summaries a list gives without being asked."""


@router.post("/experiments/{experiment_id}/runs", status_code=201)
async def create_run(
    experiment_id: str, body: RunBody, caller: ExperimentWriter, session: Writing, once: Idempotent
) -> RunAnswer:
    """Queues a run of a version of the experiment's config; a worker submits it."""

    async def make() -> RunAnswer:
        experiment = await experiments.get(session, experiment_id)
        run = await service.create(
            session,
            experiment,
            actor=caller.actor,
            cluster=body.cluster,
            overrides=body.overrides,
            version=body.version,
            name=body.name,
            tags=body.tags,
        )
        return await _answer(session, run)

    return await once.create(session, caller, make, answer=RunAnswer)


@router.post("/runs/external", status_code=201)
async def create_external_run(
    body: ExternalRunBody, caller: Writer, session: Writing, once: Idempotent
) -> RunAnswer:
    """Makes a run that somebody else executes: push its metrics, then finish it."""
    project = await projects.choose(session, caller, body.project)

    async def make() -> RunAnswer:
        run = await service.create_external(
            session,
            project=project,
            name=body.name,
            actor=caller.actor,
            experiment=body.experiment,
            config=body.config,
            tags=body.tags,
        )
        return await _answer(session, run)

    return await once.create(session, caller, make, answer=RunAnswer)


@router.get("/runs")
async def list_runs(
    caller: ExperimentReader,
    session: Reading,
    sort: Annotated[
        str,
        Query(
            max_length=600,
            description="A column, `metric:<key>:<last|best|min|max>` or `config:<key>`; "
            "a leading `-` sorts downwards",
            examples=["-created_at", "-metric:eval/all/pass_at_1:best"],
        ),
    ] = "-created_at",
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
    project: Annotated[str | None, Query(description="Only runs of this project")] = None,
    experiment: Annotated[str | None, Query(description="Only runs of this experiment")] = None,
    sweep: Annotated[str, Query(max_length=200, description="Only runs of this sweep")] = "",
    key: Annotated[
        list[str] | None,
        Query(max_length=50, description="Metric keys whose summaries are wanted, too"),
    ] = None,
    filter_text: Annotated[
        str,
        Query(
            alias="filter",
            max_length=2_000,
            description="The filter language of docs/runs-table.md",
            examples=['status = failed and config("trainer.seed") = 3'],
        ),
    ] = "",
) -> Listing[RunAnswer]:
    """Runs of your projects that are not deleted; those without a value of the sort come last."""
    home = await experiments.get(session, experiment) if experiment else None
    page = await service.list_page(
        session,
        projects=await projects.narrow(session, caller, project),
        limit=limit,
        cursor=cursor,
        sort=sort,
        filter_text=filter_text,
        experiment=home,
        sweep=sweep,
    )
    order = parse_sort(sort)
    keys = {*HEADLINE_KEYS, *(key or ()), *([order.name] if order.kind == "metric" else ())}
    summaries = await service.summaries(session, page.items, sorted(keys))
    steps = await service.pushed_steps(session, page.items)
    items = [
        RunAnswer.of(run, summaries.get(run.id, {}).values(), pushed_step=steps.get(run.id))
        for run in page.items
    ]
    return Listing(items=items, next_cursor=page.next_cursor)


@router.get("/runs/{run_id}")
async def get_run(run_id: str, _caller: RunReader, session: Reading) -> RunAnswer:
    """A run with its attempts, progress and the summaries of all its metrics."""
    return await _answer(session, await service.get(session, run_id))


@router.post("/runs/{run_id}/stop")
async def stop_run(run_id: str, caller: RunWriter, session: Writing) -> RunAnswer:
    """Asks for the run to be stopped; a worker does it. Asking again changes nothing."""
    run = await service.get(session, run_id)
    return await _answer(session, await service.request_stop(session, run, actor=caller.actor))


@router.post("/runs/{run_id}/resume")
async def resume_run(run_id: str, caller: RunWriter, session: Writing) -> RunAnswer:
    """Queues another attempt of a failed, stopped or lost run, from its newest checkpoint."""
    run = await service.get(session, run_id)
    return await _answer(session, await service.request_resume(session, run, actor=caller.actor))


@router.post("/runs/{run_id}/delete")
async def delete_run(run_id: str, caller: RunWriter, session: Writing) -> RunAnswer:
    """Hides an ended run; `/restore` brings it back."""
    run = await service.get(session, run_id)
    return await _answer(session, await service.delete(session, run, actor=caller.actor))


@router.post("/runs/{run_id}/restore")
async def restore_run(run_id: str, caller: RunWriter, session: Writing) -> RunAnswer:
    run = await service.get(session, run_id)
    return await _answer(session, await service.restore(session, run, actor=caller.actor))


@router.post("/runs/{run_id}/finish")
async def finish_run(
    run_id: str, body: FinishBody, caller: RunWriter, session: Writing
) -> RunAnswer:
    """Ends a run that is fed by pushes."""
    run = await service.get(session, run_id)
    finished = await service.finish_external(session, run, body.status, actor=caller.actor)
    return await _answer(session, finished)


@router.get("/runs/{run_id}/events")
async def list_events(
    run_id: str,
    _caller: RunReader,
    session: Reading,
    limit: Limit = DEFAULT_LIMIT,
    cursor: IdCursor = None,
) -> Listing[EventAnswer]:
    """What happened to the run, oldest first."""
    run = await service.get(session, run_id)
    page = await service.list_events(session, run, limit=limit, cursor=cursor)
    items = [EventAnswer.of(event) for event in page.items]
    return Listing(items=items, next_cursor=page.next_cursor)


async def _answer(session: AsyncSession, run: Run) -> RunAnswer:
    series = await metrics.list_series(session, run)
    position = await queue.queue_position(session, run)
    # As `pushed_steps` finds it, without asking once more.
    steps = [each.last_step for each in series if each.last_step is not None]
    pushed = max(steps, default=None) if run.origin is RunOrigin.EXTERNAL else None
    return RunAnswer.of(run, series, queue_position=position, pushed_step=pushed)
