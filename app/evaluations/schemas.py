"""JSON shapes of eval sets and evaluations."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from app.api.schemas import Answer, Body, Line
from app.episodes.service import MAX_TURNS
from app.episodes.states import Outcome
from app.evaluations import service
from app.evaluations.results import Comparison, ModelResult, PlayedItem, compare, results
from app.evaluations.seeds import LARGEST_SEED, MAX_SEEDS
from app.evaluations.service import ModelRef, Request
from app.evaluations.sets import NewSet
from app.maze.eval_sets import EvalSet
from app.maze.parse import Dialect
from app.models import CustomEvalSet, Evaluation, EvaluationStatus

ModelName = Annotated[Line, Field(max_length=300, examples=["maze-base:maze-grpo"])]


class EvalSetAnswer(Answer):
    """`project` is null for the built-in sets, which every project has."""

    name: str
    env_id: str
    seeds: list[int]
    max_turns: int
    dialect: Dialect
    solvable_count: int = Field(description="How many can be solved within the turn limit at all")
    project: str | None = None

    @classmethod
    def of(cls, found: EvalSet | CustomEvalSet, project: str | None = None) -> "EvalSetAnswer":
        return cls(
            name=found.name,
            env_id=found.env_id,
            seeds=list(found.seeds),
            max_turns=found.max_turns,
            dialect=Dialect(found.dialect),
            solvable_count=found.solvable_count,
            project=project,
        )


class EvalSetBody(Body):
    name: Line = Field(examples=["hard-0-31"])
    project: Line | None = None
    env_id: Line = Field(examples=["maze_2d/hard"])
    seeds: list[Annotated[int, Field(ge=0, le=LARGEST_SEED)]] = Field(
        min_length=1, max_length=MAX_SEEDS, examples=[[0, 1, 2, 3]]
    )
    max_turns: int = Field(ge=1, le=MAX_TURNS)
    dialect: Dialect = Dialect.KEYWORD

    def wanted(self) -> NewSet:
        return NewSet(
            name=self.name,
            env_id=self.env_id,
            seeds=self.seeds,
            max_turns=self.max_turns,
            dialect=self.dialect,
        )


class ModelBody(Body):
    endpoint: Line = Field(examples=["embedded"])
    model: ModelName


class EvaluationBody(Body):
    """Each model plays each maze of the set `samples` times."""

    models: list[ModelBody] = Field(min_length=1, max_length=service.MAX_MODELS)
    eval_set: Line = Field(examples=["easy-solvable-15"])
    project: Line | None = None
    name: Line | None = None
    temperature: float = Field(default=0.0, ge=0, le=service.MAX_TEMPERATURE)
    samples: int = Field(default=1, ge=1, le=service.MAX_SAMPLES)
    concurrency: int = Field(
        default=service.DEFAULT_CONCURRENCY,
        ge=1,
        le=service.MAX_CONCURRENCY,
        description="Most episodes under way at one endpoint",
    )

    def request(self, eval_set: EvalSet) -> Request:
        return Request(
            models=[ModelRef(each.endpoint, each.model) for each in self.models],
            eval_set=eval_set,
            name=self.name,
            temperature=self.temperature,
            samples=self.samples,
            concurrency=self.concurrency,
        )


class ModelResultAnswer(Answer):
    """`n` episodes are counted; `errors` more got no answer from the endpoint."""

    model: str
    endpoint: str
    n: int
    solved: int
    solve_rate: float | None
    interval: tuple[float, float] = Field(description="Wilson's interval of 95 %")
    pass_at_1: float | None = Field(
        description="SkyRL's: last reward above zero, which format alone can earn"
    )
    errors: int
    mean_turns: float | None
    outcomes: dict[Outcome, int]


class ComparisonAnswer(Answer):
    """Two models on the mazes that both have played, with McNemar's exact test."""

    before: str
    after: str
    n: int
    gained: int
    lost: int
    p_value: float
    summary: str = Field(
        examples=[
            "B solves 11 more of 64 mazes than A (12 gained, 1 lost); McNemar p = 0.003",
        ]
    )


class ItemAnswer(Answer):
    """One played episode."""

    model: str
    endpoint: str
    seed: int
    sample: int
    solved: bool
    turns: int
    reward: float
    outcome: Outcome
    episode_id: str | None
    message: str


class ConditionAnswer(Answer):
    kind: str = Field(examples=["endpoint_unreachable"])
    since: datetime
    message: str
    endpoint: str


class ProgressAnswer(Answer):
    played: int
    total: int


class EvaluationAnswer(Answer):
    """`results`, `comparisons` and `items` are empty in lists. `items` are the played episodes."""

    id: str = Field(examples=["evl-7fk2m9qd"])
    name: str
    project: str
    status: EvaluationStatus
    status_reason: str
    conditions: list[ConditionAnswer]
    progress: ProgressAnswer
    eval_set: str
    env_id: str
    max_turns: int
    dialect: Dialect
    models: list[ModelBody]
    temperature: float
    samples: int
    concurrency: int
    owner: str
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    results: list[ModelResultAnswer] = Field(default_factory=list)
    comparisons: list[ComparisonAnswer] = Field(default_factory=list)
    items: list[ItemAnswer] = Field(default_factory=list)

    @classmethod
    def line(cls, evaluation: Evaluation, *, played: int) -> "EvaluationAnswer":
        """For a list."""
        return cls(**_fields(evaluation, played))

    @classmethod
    def of(cls, evaluation: Evaluation, items: Sequence[PlayedItem]) -> "EvaluationAnswer":
        found = results(items, len(evaluation.models))
        return cls(
            **_fields(evaluation, len(items)),
            results=[_result(evaluation, each) for each in found],
            comparisons=_comparisons(evaluation, items),
            items=[_item(evaluation, each) for each in items],
        )


def _fields(evaluation: Evaluation, played: int) -> dict[str, Any]:
    total = service.episode_count(evaluation)
    return {
        "id": evaluation.slug,
        "name": evaluation.name,
        "project": evaluation.project.slug,
        "status": evaluation.status,
        "status_reason": evaluation.status_reason,
        "conditions": [ConditionAnswer(**each) for each in evaluation.conditions],
        "progress": ProgressAnswer(played=played, total=total),
        "eval_set": evaluation.eval_set,
        "env_id": evaluation.env_id,
        "max_turns": evaluation.max_turns,
        "dialect": Dialect(evaluation.dialect),
        "models": [ModelBody(**_names(evaluation, n)) for n in range(len(evaluation.models))],
        "temperature": evaluation.temperature,
        "samples": evaluation.samples,
        "concurrency": evaluation.concurrency,
        "owner": evaluation.owner,
        "created_at": evaluation.created_at,
        "started_at": evaluation.started_at,
        "ended_at": evaluation.ended_at,
    }


def _names(evaluation: Evaluation, number: int) -> dict[str, str]:
    found = evaluation.models[number]
    return {"model": found["model"], "endpoint": found["endpoint"]}


def _result(evaluation: Evaluation, found: ModelResult) -> ModelResultAnswer:
    return ModelResultAnswer(
        **_names(evaluation, found.model_number),
        n=found.n,
        solved=found.solved,
        solve_rate=found.solve_rate,
        interval=found.interval,
        pass_at_1=found.pass_at_1,
        errors=found.errors,
        mean_turns=found.mean_turns,
        outcomes=found.outcomes,
    )


def _comparisons(evaluation: Evaluation, items: Sequence[PlayedItem]) -> list[ComparisonAnswer]:
    """Each model against the first one."""
    if not service.comparable(evaluation):
        return []
    return [
        _comparison(evaluation, compare(items, evaluation.seeds, before=0, after=number))
        for number in range(1, len(evaluation.models))
    ]


def _comparison(evaluation: Evaluation, found: Comparison) -> ComparisonAnswer:
    before, after = service.title(evaluation, found.before), service.title(evaluation, found.after)
    return ComparisonAnswer(
        before=before,
        after=after,
        n=found.n,
        gained=found.gained,
        lost=found.lost,
        p_value=found.p_value,
        summary=found.words(before, after),
    )


def _item(evaluation: Evaluation, item: PlayedItem) -> ItemAnswer:
    return ItemAnswer(
        **_names(evaluation, item.model_number),
        seed=item.seed,
        sample=item.sample,
        solved=item.is_solved,
        turns=item.turns,
        reward=item.reward,
        outcome=item.outcome,
        episode_id=item.episode,
        message=item.message,
    )
