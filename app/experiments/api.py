"""JSON API of experiments."""

from fastapi import APIRouter

from app.api.deps import DEFAULT_LIMIT, IdCursor, Limit, Reader, Reading, Writer, Writing
from app.api.idempotency import Idempotent
from app.api.json_bodies import JsonRoute
from app.api.schemas import Listing
from app.experiments import service
from app.experiments.schemas import ExperimentAnswer, ExperimentBody

router = APIRouter(tags=["experiments"], route_class=JsonRoute)


@router.post("/experiments", status_code=201)
async def create_experiment(
    body: ExperimentBody, caller: Writer, session: Writing, once: Idempotent
) -> ExperimentAnswer:
    """Makes an experiment with version 1 of its config: the recipe's defaults under `config`."""

    async def make() -> ExperimentAnswer:
        experiment = await service.create(
            session,
            name=body.name,
            recipe=body.recipe,
            config=body.config,
            actor=caller.actor,
            project=body.project,
            hypothesis=body.hypothesis,
            tags=body.tags,
        )
        return ExperimentAnswer.of(experiment, await service.newest_config(session, experiment))

    return await once.create(session, caller, make, answer=ExperimentAnswer)


@router.get("/experiments")
async def list_experiments(
    _caller: Reader, session: Reading, limit: Limit = DEFAULT_LIMIT, cursor: IdCursor = None
) -> Listing[ExperimentAnswer]:
    """Newest first."""
    page = await service.list_page(session, limit=limit, cursor=cursor)
    configs = await service.newest_configs(session, page.items)
    items = [ExperimentAnswer.of(row, configs.get(row.id)) for row in page.items]
    return Listing(items=items, next_cursor=page.next_cursor)


@router.get("/experiments/{experiment_id}")
async def get_experiment(experiment_id: str, _caller: Reader, session: Reading) -> ExperimentAnswer:
    experiment = await service.get(session, experiment_id)
    return ExperimentAnswer.of(experiment, await service.newest_config(session, experiment))
