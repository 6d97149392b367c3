"""JSON API of experiments."""

from typing import Annotated

from fastapi import APIRouter, Query

from app.api.deps import (
    DEFAULT_LIMIT,
    ExperimentReader,
    IdCursor,
    Limit,
    Reader,
    Reading,
    Writer,
    Writing,
)
from app.api.idempotency import Idempotent
from app.api.json_bodies import JsonRoute
from app.api.schemas import Listing
from app.experiments import service
from app.experiments.schemas import ExperimentAnswer, ExperimentBody
from app.projects import service as projects

router = APIRouter(tags=["experiments"], route_class=JsonRoute)


@router.post("/experiments", status_code=201)
async def create_experiment(
    body: ExperimentBody, caller: Writer, session: Writing, once: Idempotent
) -> ExperimentAnswer:
    """Makes an experiment with version 1 of its config: the recipe's defaults under `config`."""
    project = await projects.choose(session, caller, body.project)

    async def make() -> ExperimentAnswer:
        experiment = await service.create(
            session,
            project=project,
            name=body.name,
            recipe=body.recipe,
            config=body.config,
            actor=caller.actor,
            hypothesis=body.hypothesis,
            tags=body.tags,
        )
        return ExperimentAnswer.of(experiment, await service.newest_config(session, experiment))

    return await once.create(session, caller, make, answer=ExperimentAnswer)


@router.get("/experiments")
async def list_experiments(
    caller: Reader,
    session: Reading,
    project: Annotated[str | None, Query(description="Only experiments of this project")] = None,
    limit: Limit = DEFAULT_LIMIT,
    cursor: IdCursor = None,
) -> Listing[ExperimentAnswer]:
    """Those of your projects, newest first."""
    shown = await projects.narrow(session, caller, project)
    page = await service.list_page(session, projects=shown, limit=limit, cursor=cursor)
    configs = await service.newest_configs(session, page.items)
    items = [ExperimentAnswer.of(row, configs.get(row.id)) for row in page.items]
    return Listing(items=items, next_cursor=page.next_cursor)


@router.get("/experiments/{experiment_id}")
async def get_experiment(
    experiment_id: str, _caller: ExperimentReader, session: Reading
) -> ExperimentAnswer:
    experiment = await service.get(session, experiment_id)
    return ExperimentAnswer.of(experiment, await service.newest_config(session, experiment))
