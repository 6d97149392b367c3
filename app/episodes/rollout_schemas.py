"""JSON shapes of what was played in a training's evaluations."""

from app.api.schemas import Answer
from app.episodes.loaded import LoadedEpisode, Recorded
from app.episodes.schemas import PlayedAnswer, played
from app.models import Run, TrainingEvaluation


class RecordedAnswer(Answer):
    """What the run itself counted; `problem` says where the rebuilt episode differs from that."""

    solved: bool
    passed: bool
    reward: float | None
    turns: int
    problem: str

    @classmethod
    def of(cls, recorded: Recorded) -> "RecordedAnswer":
        return cls(
            solved=recorded.is_solved,
            passed=recorded.is_passed,
            reward=recorded.reward,
            turns=recorded.turns,
            problem=recorded.problem,
        )


class RolloutAnswer(PlayedAnswer):
    """An episode of an evaluation that a run made while training."""

    run: str
    attempt: int
    step: int
    number: int
    recorded: RecordedAnswer | None

    @classmethod
    def of(
        cls, loaded: LoadedEpisode, *, run: str, attempt: int, step: int, number: int
    ) -> "RolloutAnswer":
        return cls(
            **played(loaded, ()),
            run=run,
            attempt=attempt,
            step=step,
            number=number,
            recorded=RecordedAnswer.of(loaded.recorded) if loaded.recorded else None,
        )


class TrainingItemAnswer(Answer):
    """`passed`: rewarded above zero, as in pass_at_1; `solved`: the goal was reached."""

    number: int
    seed: int | None
    solved: bool
    passed: bool
    turns: int
    reward: float | None


class TrainingEvaluationAnswer(Answer):
    run: str
    attempt: int
    step: int
    env_id: str
    max_turns: int | None
    n: int
    solved: int
    passed: int
    items: list[TrainingItemAnswer]

    @classmethod
    def of(cls, run: Run, evaluation: TrainingEvaluation) -> "TrainingEvaluationAnswer":
        return cls(
            run=run.slug,
            attempt=evaluation.attempt_number,
            step=evaluation.step,
            env_id=evaluation.env_id,
            max_turns=evaluation.max_turns,
            n=evaluation.n,
            solved=evaluation.solved_count,
            passed=evaluation.passed_count,
            items=[
                TrainingItemAnswer(number=number, **item)
                for number, item in enumerate(evaluation.items, start=1)
            ],
        )
