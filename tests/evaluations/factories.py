"""Evaluations made by the service, and a worker that plays them."""

from datetime import datetime
from typing import Any

from sqlalchemy import update

from app.clock import utcnow
from app.db import Database
from app.episodes.driver import Patience
from app.episodes.seats import ModelSource
from app.evaluations import service
from app.evaluations.service import ModelRef, Request
from app.maze.eval_sets import EASY_SOLVABLE_15, EvalSet
from app.models import Evaluation, EvaluationItem, Project
from app.projects import service as projects
from tests.factories import ADA
from tests.fakes.models import ScriptedModel
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


async def make_evaluation(
    database: Database,
    models: ModelSource,
    *names: str,
    eval_set: EvalSet | None = None,
    now: datetime | None = None,
    project: Project | None = None,
    **given: Any,
) -> Evaluation:
    """Of models of the endpoint `fake`. `now`: when its first items are due."""
    async with database.write() as session:
        home = project or await projects.ensure_default(session)
        made = await service.create(
            session,
            home,
            Request(
                models=[ModelRef("fake", name) for name in names],
                eval_set=eval_set or small_set(),
                **given,
            ),
            models=models,
            actor=ADA,
        )
        if now is not None:
            change = update(EvaluationItem).where(EvaluationItem.due_at.is_not(None))
            await session.execute(change.values(due_at=now))
        return made


def make_loop(
    database: Database, models: ModelSource, clock: Clock = utcnow, *, concurrency: int = 8
) -> Loop[Any, Any]:
    """A worker's loop that plays without waiting for anything but the models."""
    reconciler = EvaluationsReconciler(
        database,
        models,
        patience=Patience(attempts=1),
        sleep=_no_sleep,
        clock=clock,
        look_seconds=0.01,
    )
    return Loop(database, reconciler, lease_seconds=15, concurrency=concurrency, clock=clock)


async def _no_sleep(_seconds: float) -> None:
    return None


def mover() -> ScriptedModel:
    return ScriptedModel(RIGHT)
