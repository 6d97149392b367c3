"""JSON shapes of runs, their attempts and events."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Annotated, Any

from pydantic import Field

from app.api.schemas import Answer, Body, ConfigValues, Line
from app.models import (
    Attempt,
    AttemptStatus,
    DesiredStatus,
    Event,
    MetricSeries,
    Run,
    RunOrigin,
    RunStatus,
)

Tags = Annotated[list[Line], Field(max_length=50, examples=[["lora"]])]
VersionNumber = Annotated[int, Field(ge=1, lt=2**31, examples=[2])]


class RunBody(Body):
    """`overrides` make an immutable config of this run, not a new version of the experiment."""

    cluster: Line | None = Field(default=None, examples=["embedded"])
    overrides: ConfigValues = Field(default_factory=dict, examples=[{"trainer.seed": 2}])
    version: VersionNumber | None = Field(default=None, description="The newest unless given")
    name: Line | None = None
    tags: Tags = Field(default_factory=list)
    retry: None = Field(default=None, description="Automatic retries are not available yet")


class ExternalRunBody(Body):
    name: Line = Field(examples=["verl on four nodes"])
    project: Line | None = Field(default=None, examples=["default"])
    experiment: Line | None = Field(default=None, description="By name; made if missing")
    config: ConfigValues = Field(default_factory=dict)
    tags: Tags = Field(default_factory=list)


class FinishBody(Body):
    status: RunStatus = Field(examples=["succeeded"])


class FailureAnswer(Answer):
    """Why an attempt failed; `evidence` are the log lines that prove it."""

    kind: str = Field(alias="class")
    message: str = ""
    evidence: list[str] | str = ""
    hint: str = ""


class AttemptAnswer(Answer):
    number: int
    submission_id: str = Field(examples=["run-7fk2m9qd-a1"])
    status: AttemptStatus
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    exit_code: int | None
    failure: FailureAnswer | None

    @classmethod
    def of(cls, attempt: Attempt) -> "AttemptAnswer":
        return cls.model_validate(attempt)


class ConditionAnswer(Answer):
    """Said beside the status: `unreachable` or `stalled`, since when and why."""

    kind: str
    since: datetime | None = None
    message: str = ""


class ProgressAnswer(Answer):
    """`eta` is the time at which the last step will end if they go on as they did.

    Of an external run, `step` is the highest one that was pushed.
    """

    phase: str | None
    step: int | None
    total_steps: int | None
    seconds_per_step: float | None
    eta: datetime | None


class SummaryAnswer(Answer):
    """Of all points that are shown; non-finite ones take part in `count` only."""

    last: float | None
    best: float | None
    min: float | None
    max: float | None
    last_step: int | None
    best_step: int | None
    count: int


class RunAnswer(Answer):
    """`queue_position` is 1 for the run that its cluster takes next; null in lists."""

    id: str = Field(examples=["run-7fk2m9qd"])
    name: str
    experiment_id: str = Field(examples=["exp-3kq9x2vd"])
    project: str = Field(examples=["default"])
    origin: RunOrigin
    status: RunStatus
    status_reason: str
    conditions: list[ConditionAnswer]
    desired_status: DesiredStatus
    cluster: str | None
    queue_position: int | None
    tags: list[str]
    owner: str
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    deleted_at: datetime | None
    recipe: str
    config: dict[str, Any]
    config_digest: str
    experiment_version: int | None = Field(
        description="The version that it runs, or that its overrides were put over"
    )
    has_overrides: bool
    sweep_id: str | None = Field(examples=["swp-7fk2m9qd"])
    attempts: list[AttemptAnswer]
    progress: ProgressAnswer
    summary: dict[str, SummaryAnswer] = Field(
        description="By metric key: all keys of one run; in lists those that were asked for"
    )

    @classmethod
    def of(
        cls,
        run: Run,
        series: Iterable[MetricSeries],
        *,
        queue_position: int | None = None,
        pushed_step: int | None = None,
    ) -> "RunAnswer":
        """`run` is loaded with its experiment, config, cluster and attempts."""
        return cls(
            id=run.slug,
            name=run.name,
            experiment_id=run.experiment.slug,
            project=run.experiment.project.slug,
            origin=run.origin,
            status=run.status,
            status_reason=run.status_reason,
            conditions=[ConditionAnswer.model_validate(each) for each in run.conditions],
            desired_status=run.desired_status,
            cluster=run.cluster.slug if run.cluster else None,
            queue_position=queue_position,
            tags=run.tags,
            owner=run.owner,
            created_at=run.created_at,
            started_at=run.started_at,
            ended_at=run.ended_at,
            deleted_at=run.deleted_at,
            recipe=run.config.recipe,
            config=run.config.values,
            config_digest=run.config.digest,
            experiment_version=run.config.version or run.config.base_version,
            has_overrides=run.config.base_version is not None,
            sweep_id=run.sweep.slug if run.sweep else None,
            attempts=[AttemptAnswer.of(attempt) for attempt in run.attempts],
            progress=_progress(run, pushed_step),
            summary={each.key: SummaryAnswer.model_validate(each) for each in series},
        )


class EventAnswer(Answer):
    at: datetime
    actor: str
    kind: str
    attempt: int | None
    before: str | None = Field(alias="from")
    after: str | None = Field(alias="to")
    reason: str
    message: str

    @classmethod
    def of(cls, event: Event) -> "EventAnswer":
        return cls(
            at=event.at,
            actor=event.actor,
            kind=event.kind,
            attempt=event.attempt_number,
            before=event.from_status,
            after=event.to_status,
            reason=event.reason,
            message=event.message,
        )


def _progress(run: Run, pushed_step: int | None) -> ProgressAnswer:
    return ProgressAnswer(
        phase=run.phase,
        step=run.step if pushed_step is None else pushed_step,
        total_steps=run.total_steps,
        seconds_per_step=run.seconds_per_step,
        eta=_eta(run),
    )


def _eta(run: Run) -> datetime | None:
    if run.step is None or run.total_steps is None or run.ended_at is not None:
        return None
    if run.seconds_per_step is None or run.progress_at is None:
        return None
    left = max(0, run.total_steps - run.step)
    return run.progress_at + timedelta(seconds=left * run.seconds_per_step)
