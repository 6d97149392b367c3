"""Evaluations made by the service, and a worker that plays them."""

from datetime import datetime
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncSession

from app.clock import utcnow
from app.db import Database
from app.episodes.driver import Patience
from app.episodes.seats import ModelSource
from app.episodes.states import Outcome
from app.evaluations import progress, service
from app.evaluations.progress import Ended
from app.evaluations.service import ModelRef, Request
from app.maze.eval_sets import EASY_SOLVABLE_15, EvalSet
from app.models import (
    Endpoint,
    EndpointKind,
    EndpointStatus,
    Evaluation,
    EvaluationItem,
    Project,
)
from app.projects import service as projects
from tests.factories import ADA
from tests.fakes.models import ScriptedModel, ScriptedModels
from worker.lease import Clock
from worker.reconciler import Loop
from worker.reconcilers.evaluations import EvaluationsReconciler

RIGHT, STOP = "<action>right</action>", "<action>stop</action>"


def small_set(count: int = 4, *, max_turns: int = 3) -> EvalSet:
    """The first mazes of the embedded default, few turns: whoever never stops fails soon."""
    return EvalSet(
        name="small",
        env_id=EASY_SOLVABLE_15.env_id,
        seeds=EASY_SOLVABLE_15.seeds[:count],
        max_turns=max_turns,
        dialect=EASY_SOLVABLE_15.dialect,
        solvable_count=0,
    )


async def add_endpoint(
    session: AsyncSession, *models: str, slug: str = "fake", name: str = "Fake"
) -> Endpoint:
    """A registered endpoint that was seen with these models."""
    now = utcnow()
    made = Endpoint(
        slug=slug,
        name=name,
        kind=EndpointKind.OPENAI,
        base_url="http://127.0.0.1:1/v1",
        status=EndpointStatus.READY,
        status_since=now,
        models=[{"id": each, "parent": None, "max_model_len": 6_000} for each in models],
        created_by="ada",
        created_at=now,
    )
    session.add(made)
    await session.flush()
    return made


async def add_evaluation(
    session: AsyncSession,
    project: Project,
    *names: str,
    models: ModelSource | None = None,
    eval_set: EvalSet | None = None,
    **given: Any,
) -> Evaluation:
    """Queued; of models of the endpoint `fake`, which need not be there."""
    asked = [ModelRef("fake", name) for name in names]
    request = Request(models=asked, eval_set=eval_set or small_set(), **given)
    source = models or ScriptedModels(**dict.fromkeys(names, mover()))
    return await service.create(session, project, request, models=source, actor=ADA)


async def add_played(session: AsyncSession, project: Project, *names: str) -> Evaluation:
    """All but the last maze were played, with every kind of end, and no episodes were kept."""
    made = await add_evaluation(session, project, *names, eval_set=EASY_SOLVABLE_15)
    query = select(EvaluationItem).where(EvaluationItem.evaluation_id == made.id)
    items = list(await session.scalars(query.order_by(EvaluationItem.number)))
    ends = [each for each in Outcome if each is not Outcome.STOPPED]
    for item in items[: -len(names)]:
        # Later models solve more.
        is_solved = item.seed % 5 < 2 + item.model_number
        outcome = Outcome.SOLVED if is_solved else ends[item.seed % len(ends)]
        ended = Ended(
            outcome=outcome,
            is_passed=outcome is Outcome.SOLVED,
            turns=item.seed % 15 + 1,
            reward=float(outcome is Outcome.SOLVED),
            message="it said no" if outcome is Outcome.ENDPOINT_ERROR else "",
        )
        await progress.finish(session, made, item, ended, now=utcnow())
        item.due_at = None
    await session.flush()
    return await service.get(session, made.slug)


async def make_evaluation(
    database: Database,
    models: ModelSource,
    *names: str,
    eval_set: EvalSet | None = None,
    now: datetime | None = None,
    **given: Any,
) -> Evaluation:
    """In the default project. `now`: when its first items are due."""
    async with database.write() as session:
        home = await projects.ensure_default(session)
        made = await add_evaluation(
            session, home, *names, models=models, eval_set=eval_set, **given
        )
        if now is not None:
            change = update(EvaluationItem).where(EvaluationItem.due_at.is_not(None))
            await session.execute(change.values(due_at=now))
        return made


def make_loop(
    database: Database,
    models: ModelSource,
    clock: Clock = utcnow,
    *,
    concurrency: int = 8,
    look_seconds: float = 1.0,
) -> Loop[Any, Any]:
    """A worker's loop that asks for each answer once."""
    reconciler = EvaluationsReconciler(
        database,
        models,
        patience=Patience(attempts=1),
        sleep=_no_sleep,
        clock=clock,
        look_seconds=look_seconds,
    )
    return Loop(database, reconciler, lease_seconds=15, concurrency=concurrency, clock=clock)


async def _no_sleep(_seconds: float) -> None:
    return None


def mover() -> ScriptedModel:
    return ScriptedModel(RIGHT)
