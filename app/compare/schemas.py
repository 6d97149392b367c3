"""JSON shapes of a comparison."""

from typing import Any

from pydantic import Field

from app.api.schemas import Answer
from app.compare.asked import At
from app.compare.comparison import Against, Comparison
from app.compare.differences import NOT_SET
from app.compare.measured import ComparedRun, Measured
from app.metrics.statistics import mean_interval, spread


class MeasuredAnswer(Answer):
    """An evaluation that a run made while training. `solve_rate` counts episodes that reached the
    goal; `pass_at_k` is by k, unbiased, of last rewards above zero.
    """

    step: int
    n: int
    solved: int
    solve_rate: float | None
    interval: tuple[float, float] = Field(description="Wilson's, 95 %, of the solve rate")
    passed: int
    pass_at_k: dict[int, float]
    environment: str = Field(examples=["maze_2d/easy"])
    max_turns: int | None
    solvable: int | None = Field(description="Of its mazes, within the turn limit; null: unknown")

    @classmethod
    def of(cls, found: Measured) -> "MeasuredAnswer":
        ks = sorted({1, found.most_samples} - {0})
        return cls(
            step=found.step,
            n=found.n,
            solved=found.solved,
            solve_rate=found.solve_rate,
            interval=found.interval,
            passed=found.passed,
            pass_at_k={k: value for k in ks if (value := found.pass_at(k)) is not None},
            environment=found.env_id,
            max_turns=found.max_turns,
            solvable=found.solvable,
        )


class AgainstAnswer(Answer):
    """McNemar's exact test against the first run, on the mazes that both played."""

    n: int
    gained: int
    lost: int
    p_value: float
    p_adjusted: float = Field(description="By Holm over all runs that were tested")

    @classmethod
    def of(cls, found: Against) -> "AgainstAnswer | None":
        pairs = found.pairs
        if pairs is None:
            return None
        return cls(
            n=pairs.n,
            gained=pairs.gained,
            lost=pairs.lost,
            p_value=pairs.p_value,
            p_adjusted=found.adjusted,
        )


class MetricSummaryAnswer(Answer):
    last: float | None
    last_step: int | None
    best: float | None
    best_step: int | None
    count: int


class ComparedRunAnswer(Answer):
    """`against` is null for the first run, and where nothing could be tested: `reason` says why."""

    id: str = Field(examples=["run-7fk2m9qd"])
    letter: str = Field(examples=["A"])
    name: str
    experiment: str
    status: str
    tags: list[str]
    summary: MetricSummaryAnswer | None = Field(description="Of the metric")
    last: MeasuredAnswer | None
    best: MeasuredAnswer | None
    against: AgainstAnswer | None
    reason: str
    gpus: int | None
    gpu_hours: float | None


class DifferenceAnswer(Answer):
    """A config key; `values` are by run id, without the runs that do not have it."""

    key: str
    values: dict[str, Any]


class GroupAnswer(Answer):
    """Of the runs of a group that have the metric. `deviation` is over n - 1; `interval` is
    Student's of 95 %, of the mean.
    """

    label: str
    runs: list[str]
    n: int
    mean: float | None
    deviation: float | None
    interval: tuple[float, float] | None


class ComparisonAnswer(Answer):
    """Runs beside each other; the first is what the others are held against."""

    metric: str
    at: At
    significance: str = Field(
        examples=[
            "B solves 11 more of 64 mazes than A (12 gained, 1 lost); McNemar p = 0.003",
        ]
    )
    runs: list[ComparedRunAnswer]
    differences: list[DifferenceAnswer]
    grouped_by: str
    groups: list[GroupAnswer]

    @classmethod
    def of(cls, found: Comparison) -> "ComparisonAnswer":
        """Takes scipy where there are groups: call it in a thread."""
        against = [None, *found.against]
        return cls(
            metric=found.metric,
            at=found.at,
            significance=found.significance(),
            runs=[
                _run(found, each, other) for each, other in zip(found.runs, against, strict=True)
            ],
            differences=[
                DifferenceAnswer(
                    key=row.key,
                    values={
                        each.run.slug: value
                        for each, value in zip(found.runs, row.values, strict=True)
                        if value is not NOT_SET
                    },
                )
                for row in found.differing
            ],
            grouped_by=found.grouped_by,
            groups=_groups(found),
        )


def _run(found: Comparison, each: ComparedRun, against: Against | None) -> ComparedRunAnswer:
    summary = each.summaries.get(found.metric)
    return ComparedRunAnswer(
        id=each.run.slug,
        letter=each.letter,
        name=each.run.name,
        experiment=each.run.experiment.name,
        status=each.run.status,
        tags=each.run.tags,
        summary=MetricSummaryAnswer.model_validate(summary) if summary else None,
        last=MeasuredAnswer.of(each.last) if each.last else None,
        best=MeasuredAnswer.of(each.best) if each.best else None,
        against=AgainstAnswer.of(against) if against else None,
        reason=against.reason if against else "",
        gpus=each.gpus,
        gpu_hours=None if each.gpu_seconds is None else each.gpu_seconds / 3600,
    )


def _groups(found: Comparison) -> list[GroupAnswer]:
    values = found.values()
    answers = []
    for group in found.groups:
        known = [value for place in group.members if (value := values[place]) is not None]
        each = spread(known)
        answers.append(
            GroupAnswer(
                label=group.label,
                runs=[found.runs[place].run.slug for place in group.members],
                n=len(known),
                mean=each.mean if each else None,
                deviation=each.deviation if each else None,
                interval=mean_interval(known),
            )
        )
    return answers
