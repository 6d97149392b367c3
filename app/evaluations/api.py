"""JSON API of eval sets and evaluations."""

from typing import Annotated

from fastapi import Query
from sqlalchemy.ext.asyncio import AsyncSession

from app.api.deps import (
    DEFAULT_LIMIT,
    EvaluationReader,
    EvaluationWriter,
    IdCursor,
    Limit,
    ProjectReader,
    Reading,
    Store,
    Writer,
    Writing,
)
from app.api.idempotency import Idempotent
from app.api.json_bodies import JsonRoute
from app.api.schemas import Listing
from app.episodes.deps import Models
from app.evaluations import service, sets
from app.evaluations.schemas import EvalSetAnswer, EvalSetBody, EvaluationAnswer, EvaluationBody
from app.models import Evaluation
from app.projects import service as projects
from app.routing import Router

router = Router(tags=["evaluations"], route_class=JsonRoute)


@router.get("/eval-sets")
async def list_eval_sets(
    caller: ProjectReader,
    session: Reading,
    project: Annotated[str | None, Query(description="Only those of this project")] = None,
    limit: Limit = DEFAULT_LIMIT,
    cursor: IdCursor = None,
) -> Listing[EvalSetAnswer]:
    """Environment, mazes, turn limit, and how many can be solved within it.

    The built-in sets first, then those of your projects, newest first.
    """
    page = await sets.list_page(
        session,
        projects=await projects.narrow(session, caller, project),
        limit=limit,
        cursor=cursor,
    )
    first = [] if cursor else [EvalSetAnswer.of(each) for each in sets.built_in()]
    added = [EvalSetAnswer.of(each, each.project.slug) for each in page.items]
    return Listing(items=[*first, *added], next_cursor=page.next_cursor)


@router.post("/eval-sets", status_code=201)
async def create_eval_set(
    body: EvalSetBody, caller: Writer, store: Store, once: Idempotent
) -> EvalSetAnswer:
    """Adds an eval set to a project. It is never changed: its name means these mazes for ever."""
    checked = await sets.check(body.wanted())
    async with store.write() as session:

        async def make() -> EvalSetAnswer:
            home = await projects.choose(session, caller, body.project)
            made = await sets.create(session, home, checked, actor=caller.actor)
            return EvalSetAnswer.of(made, home.slug)

        return await once.create(session, caller, make, answer=EvalSetAnswer)


@router.post("/evaluations", status_code=201)
async def create_evaluation(
    body: EvaluationBody, caller: Writer, session: Writing, models: Models, once: Idempotent
) -> EvaluationAnswer:
    """Queues an evaluation: every model plays every maze of the set."""

    async def make() -> EvaluationAnswer:
        home = await projects.choose(session, caller, body.project)
        chosen = await sets.find(session, home, body.eval_set)
        made = await service.create(
            session, home, body.request(chosen), models=models, actor=caller.actor
        )
        return await _answer(session, await service.get(session, made.slug))

    return await once.create(session, caller, make, answer=EvaluationAnswer)


@router.get("/evaluations")
async def list_evaluations(
    caller: ProjectReader,
    session: Reading,
    project: Annotated[str | None, Query(description="Only those of this project")] = None,
    limit: Limit = DEFAULT_LIMIT,
    cursor: IdCursor = None,
) -> Listing[EvaluationAnswer]:
    """Those of your projects, newest first, without their results."""
    page = await service.list_page(
        session,
        projects=await projects.narrow(session, caller, project),
        limit=limit,
        cursor=cursor,
    )
    counts = await service.count_all(session, page.items)
    items = [
        EvaluationAnswer.line(each, played=sum(c.played for c in counts[each.id].values()))
        for each in page.items
    ]
    return Listing(items=items, next_cursor=page.next_cursor)


@router.get("/evaluations/{evaluation_id}")
async def get_evaluation(
    evaluation_id: str, _caller: EvaluationReader, session: Reading
) -> EvaluationAnswer:
    """An evaluation with its results so far and every played episode."""
    return await _answer(session, await service.get(session, evaluation_id))


@router.post("/evaluations/{evaluation_id}/stop")
async def stop_evaluation(
    evaluation_id: str, caller: EvaluationWriter, session: Writing
) -> EvaluationAnswer:
    """Asks for its end; what was played is kept. Again, or later: changes nothing."""
    evaluation = await service.get(session, evaluation_id)
    await service.stop(session, evaluation, actor=caller.actor)
    return await _answer(session, evaluation)


@router.post("/evaluations/{evaluation_id}/resume")
async def resume_evaluation(
    evaluation_id: str, caller: EvaluationWriter, session: Writing
) -> EvaluationAnswer:
    """Plays what is missing after a stop, and what got no answer."""
    evaluation = await service.get(session, evaluation_id)
    await service.resume(session, evaluation, actor=caller.actor)
    return await _answer(session, evaluation)


async def _answer(session: AsyncSession, evaluation: Evaluation) -> EvaluationAnswer:
    return EvaluationAnswer.of(evaluation, await service.list_played(session, evaluation))
