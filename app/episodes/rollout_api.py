"""JSON API of the evaluations that runs make while training, and of their episodes."""

from typing import Annotated

from fastapi import Path, Query

from app.api.deps import Reading, RunReader, Store
from app.episodes import rollouts
from app.episodes.rollout_schemas import RolloutAnswer, TrainingEvaluationAnswer
from app.routing import Router
from app.runs import service as runs

router = Router(tags=["episodes"])
Step = Annotated[int, Path(ge=0, lt=2**63)]
Number = Annotated[int, Path(ge=1, lt=2**31, description="From 1, in the order of the dump")]
AttemptNumber = Annotated[
    int | None, Query(ge=1, lt=2**31, description="The newest that evaluated, unless given")
]


@router.get("/runs/{run_id}/evaluations/{step}")
async def get_training_evaluation(
    run_id: str,
    step: Step,
    _caller: RunReader,
    session: Reading,
    attempt: AttemptNumber = None,
) -> TrainingEvaluationAnswer:
    """What a run's own evaluation at a step counted, episode by episode."""
    run = await runs.get(session, run_id)
    found = await rollouts.get_evaluation(session, run, step, attempt=attempt)
    return TrainingEvaluationAnswer.of(run, found)


@router.get("/runs/{run_id}/evaluations/{step}/episodes/{number}")
async def get_training_episode(
    run_id: str,
    step: Step,
    number: Number,
    _caller: RunReader,
    store: Store,
    attempt: AttemptNumber = None,
) -> RolloutAnswer:
    """One of its episodes, rebuilt from seed and answers, beside what the run counted."""
    async with store.read() as session:
        run = await runs.get(session, run_id)
        kept = await rollouts.get_rollout(session, run, step, number, attempt=attempt)
    found = await rollouts.rebuild(kept)
    return RolloutAnswer.of(
        found.loaded,
        run=run.slug,
        attempt=found.evaluation.attempt_number,
        step=step,
        number=number,
    )
