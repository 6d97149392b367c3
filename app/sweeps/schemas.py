"""JSON shapes of sweeps: what is asked for, what would be made, what was made."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from app.api.schemas import (
    Answer,
    Body,
    ConfigValues,
    Line,
    ProblemEntry,
    no_nul,
    plain_values,
)
from app.models import Cluster, Run, RunStatus, Sweep, SweepKind
from app.recipes.model import Findings
from app.recipes.schemas import ErrorFound, ValidationAnswer, WarningFound
from app.sweeps import expansion
from app.sweeps.expansion import Space
from app.sweeps.service import (
    MAX_RUNNING,
    MAX_RUNS,
    Plan,
    PlannedRun,
    Request,
    cluster_gpus,
)

_RATE = "trainer.policy.optimizer_config.lr"
Key = Annotated[str, Field(min_length=1, max_length=300), AfterValidator(no_nul)]


def _plain(values: list[Any]) -> list[Any]:
    plain_values({"values": values})
    return values


Values = Annotated[list[Any], Field(max_length=1_000), AfterValidator(_plain)]


class ChoiceBody(Body):
    kind: Literal["choice"]
    values: Values = Field(examples=[[8, 16, 32]])


class RangeBody(Body):
    """`log_uniform`: its logarithm is uniform."""

    kind: Literal["uniform", "log_uniform"]
    low: float
    high: float


class WholeNumberBody(Body):
    """From `low` to `high`, both included."""

    kind: Literal["int"]
    low: int = Field(ge=-(2**53), le=2**53)
    high: int = Field(ge=-(2**53), le=2**53)


DrawBody = Annotated[ChoiceBody | RangeBody | WholeNumberBody, Field(discriminator="kind")]


class GridBody(Body):
    """Every combination of the values."""

    kind: Literal["grid"]
    keys: dict[Key, Values] = Field(examples=[{"trainer.seed": [0, 1, 2]}])


class RandomBody(Body):
    """`count` different configs; the same seed draws the same ones again."""

    kind: Literal["random"]
    keys: dict[Key, DrawBody] = Field(
        examples=[{_RATE: {"kind": "log_uniform", "low": 1e-4, "high": 1e-2}}]
    )
    count: int = Field(examples=[20])
    seed: int = 0


class ExplicitBody(Body):
    """The configs themselves; a key that one lacks keeps the version's value."""

    kind: Literal["explicit"]
    configs: list[ConfigValues] = Field(max_length=1_000, examples=[[{"trainer.seed": 1}]])


SpaceBody = Annotated[GridBody | RandomBody | ExplicitBody, Field(discriminator="kind")]


class PreviewBody(Body):
    """A sweep over a version of an experiment, the newest unless told otherwise."""

    experiment: Line = Field(examples=["exp-3kq9x2vd"])
    version: int | None = Field(default=None, ge=1, lt=2**31)
    cluster: Line | None = Field(default=None, examples=["embedded"])
    space: SpaceBody
    exclude: list[int] = Field(
        default_factory=list, max_length=MAX_RUNS, description="Numbers of runs not to be made"
    )

    def request(self) -> Request:
        return Request(space=space_of(self.space), exclude=self.exclude)


class SweepBody(PreviewBody):
    name: Line | None = Field(default=None, description="That of the experiment unless given")
    max_running_runs: int = Field(default=4, ge=1, le=MAX_RUNNING)
    tags: list[Line] = Field(default_factory=list, max_length=50)

    def request(self) -> Request:
        return Request(
            space=space_of(self.space),
            exclude=self.exclude,
            name=self.name,
            max_running_runs=self.max_running_runs,
            tags=self.tags,
        )


def space_of(body: GridBody | RandomBody | ExplicitBody) -> Space:
    """What the body asks for. It may still have `expansion.problems`."""
    if isinstance(body, GridBody):
        return expansion.Grid({key: tuple(values) for key, values in body.keys.items()})
    if isinstance(body, ExplicitBody):
        return expansion.Explicit(tuple(body.configs))
    draws = {key: _draw(draw) for key, draw in body.keys.items()}
    return expansion.Random(draws, body.count, body.seed)


class PlannedRunAnswer(Answer):
    """A run that would be made. Errors keep the sweep from being made unless it is excluded."""

    number: int
    name: str = Field(examples=["lr=0.002, seed=1"])
    overrides: dict[str, Any]
    ok: bool
    is_excluded: bool
    gpus: int | None = Field(description="How many it asks for; null where its values do not tell")
    errors: list[ErrorFound]
    warnings: list[WarningFound]

    @classmethod
    def of(cls, run: PlannedRun) -> "PlannedRunAnswer":
        findings = ValidationAnswer.of(Findings(tuple(run.errors), tuple(run.warnings)))
        return cls(
            number=run.number,
            name=run.name,
            overrides=dict(run.overrides),
            ok=findings.ok,
            is_excluded=run.is_excluded,
            gpus=run.gpus,
            errors=findings.errors,
            warnings=findings.warnings,
        )


class PlanAnswer(Answer):
    """`ok`: it can be made as it is. `total` configs are in the space; `items` are the first."""

    ok: bool
    total: int
    wanted: int = Field(description="More than `total` where too few different ones can be drawn")
    limit: int = Field(description="Most runs of a sweep")
    is_cut: bool
    run_count: int = Field(description="How many runs would be made")
    cluster: str = Field(examples=["embedded"])
    cluster_gpus: int | None = Field(description="Null while nobody has seen its nodes")
    keys: list[str]
    differing: list[str]
    errors: list[ProblemEntry]
    items: list[PlannedRunAnswer]

    @classmethod
    def of(cls, plan: Plan, cluster: Cluster) -> "PlanAnswer":
        found = plan.all_problems
        return cls(
            ok=not found,
            total=plan.total,
            wanted=plan.wanted,
            limit=MAX_RUNS,
            is_cut=plan.is_cut,
            run_count=len(plan.chosen),
            cluster=cluster.slug,
            cluster_gpus=cluster_gpus(cluster),
            keys=list(plan.keys),
            differing=list(plan.differing),
            errors=[ProblemEntry.model_validate(each) for each in found],
            items=[PlannedRunAnswer.of(run) for run in plan.runs],
        )


class SweepRunAnswer(Answer):
    """A run of the sweep in short; `values` are those of the sweep's keys."""

    number: int
    id: str = Field(examples=["run-7fk2m9qd"])
    name: str
    status: RunStatus
    status_reason: str
    values: dict[str, Any]
    best_solve_rate: float | None


class SweepAnswer(Answer):
    """`runs` is null in lists; deleted runs are left out."""

    id: str = Field(examples=["swp-7fk2m9qd"])
    name: str
    experiment_id: str = Field(examples=["exp-3kq9x2vd"])
    project: str
    version: int | None
    kind: SweepKind
    space: dict[str, Any]
    keys: list[str]
    max_running_runs: int
    owner: str
    created_at: datetime
    run_count: int
    counts: dict[RunStatus, int] = Field(description="Numbers of runs by status")
    runs: list[SweepRunAnswer] | None

    @classmethod
    def of(
        cls,
        sweep: Sweep,
        counts: Mapping[RunStatus, int],
        runs: Sequence[SweepRunAnswer] | None = None,
    ) -> "SweepAnswer":
        return cls(
            id=sweep.slug,
            name=sweep.name,
            experiment_id=sweep.experiment.slug,
            project=sweep.experiment.project.slug,
            version=sweep.config.version,
            kind=sweep.kind,
            space=sweep.space,
            keys=sweep.keys,
            max_running_runs=sweep.max_running_runs,
            owner=sweep.owner,
            created_at=sweep.created_at,
            run_count=sum(counts.values()),
            counts=dict(counts),
            runs=None if runs is None else list(runs),
        )


def run_answer(sweep: Sweep, run: Run, best: float | None) -> SweepRunAnswer:
    assert run.sweep_number is not None
    return SweepRunAnswer(
        number=run.sweep_number,
        id=run.slug,
        name=run.name,
        status=run.status,
        status_reason=run.status_reason,
        values={key: run.config.values.get(key) for key in sweep.keys},
        best_solve_rate=best,
    )


def _draw(body: ChoiceBody | RangeBody | WholeNumberBody) -> expansion.Draw:
    if isinstance(body, ChoiceBody):
        return expansion.Choice(tuple(body.values))
    if isinstance(body, WholeNumberBody):
        return expansion.WholeNumber(body.low, body.high)
    kind = expansion.Uniform if body.kind == "uniform" else expansion.LogUniform
    return kind(body.low, body.high)
