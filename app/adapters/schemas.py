"""JSON shapes of adapters and of the promotions that make them."""

from datetime import datetime

from pydantic import Field

from app.adapters import destinations
from app.api.schemas import Answer, Body, Line
from app.models import Adapter, AdapterStatus, Promotion, PromotionStatus


class PromoteBody(Body):
    """All may be left out: the name is then `<run>-s<step>`, the destination this machine."""

    adapter_name: Line | None = Field(default=None, examples=["maze-rank-32"])
    destination: Line | None = Field(default=None, examples=["embedded"])
    endpoint: Line | None = Field(
        default=None,
        description="What will serve it, by id or name: its limits are looked at first",
        examples=["embedded"],
    )


class EvaluationAnswer(Answer):
    """What the run measured with these weights, of `n` mazes."""

    n: int
    solved: int
    solve_rate: float
    pass_at_1: float


class AdapterAnswer(Answer):
    """An adapter and where it comes from. `model` is its id at the endpoint of its destination."""

    id: str = Field(examples=["adp-7fk2m9qd"])
    name: str = Field(examples=["run-7fk2m9qd-s280"])
    status: AdapterStatus
    model: str = Field(examples=["maze-base:run-7fk2m9qd-s280"])
    destination: str
    project: str
    run_id: str = Field(examples=["run-7fk2m9qd"])
    checkpoint_id: str = Field(examples=["ckpt-7fk2m9qd"])
    promotion_id: str = Field(examples=["prm-7fk2m9qd"])
    attempt: int
    step: int
    config_version: int | None
    config_digest: str
    evaluation: EvaluationAnswer | None
    base: str
    rank: int | None
    size_bytes: int | None
    sha256: str | None = Field(description="Of the weights")
    created_by: str
    created_at: datetime
    ready_at: datetime | None
    deleted_at: datetime | None

    @classmethod
    def of(cls, promotion: Promotion) -> "AdapterAnswer":
        row = promotion.adapter
        return cls(
            id=row.slug,
            name=row.name,
            status=row.status,
            model=destinations.of(row.destination).model_id(row.name),
            destination=row.destination,
            project=row.run.experiment.project.slug,
            run_id=row.run.slug,
            checkpoint_id=row.checkpoint.slug,
            promotion_id=promotion.slug,
            attempt=row.attempt_number,
            step=row.step,
            config_version=row.config.version,
            config_digest=row.config.digest,
            evaluation=evaluation_of(row),
            base=row.base,
            rank=row.rank,
            size_bytes=row.size_bytes,
            sha256=row.sha256,
            created_by=row.created_by,
            created_at=row.created_at,
            ready_at=row.ready_at,
            deleted_at=row.deleted_at,
        )


class PromotionError(Answer):
    """Why it failed, or was not done at the last try; `kind` is stable, `hint` says what to do."""

    kind: str = Field(examples=["weights_broken"])
    message: str
    hint: str


class ProgressAnswer(Answer):
    """`total_bytes` null: the files were not looked at yet. `fraction` is from 0 to 1."""

    copied_bytes: int
    total_bytes: int | None
    fraction: float


class PromotionAnswer(Answer):
    id: str = Field(examples=["prm-7fk2m9qd"])
    status: PromotionStatus
    progress: ProgressAnswer
    error: PromotionError | None = None
    adapter_id: str
    adapter_name: str
    model: str
    run_id: str
    checkpoint_id: str
    step: int
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None

    @classmethod
    def of(cls, row: Promotion) -> "PromotionAnswer":
        adapter = row.adapter
        return cls(
            id=row.slug,
            status=row.status,
            progress=ProgressAnswer(
                copied_bytes=row.copied_bytes,
                total_bytes=row.total_bytes,
                fraction=fraction_of(row),
            ),
            error=PromotionError.model_validate(row.failure) if row.failure else None,
            adapter_id=adapter.slug,
            adapter_name=adapter.name,
            model=destinations.of(adapter.destination).model_id(adapter.name),
            run_id=adapter.run.slug,
            checkpoint_id=adapter.checkpoint.slug,
            step=adapter.step,
            created_at=row.created_at,
            started_at=row.started_at,
            ended_at=row.ended_at,
        )


def fraction_of(row: Promotion) -> float:
    """How much of it is done, from 0 to 1."""
    if row.status is PromotionStatus.SUCCEEDED:
        return 1.0
    return row.copied_bytes / row.total_bytes if row.total_bytes else 0.0


def evaluation_of(row: Adapter) -> EvaluationAnswer | None:
    if row.evaluation is None:
        return None
    n, solved, passed = (row.evaluation[name] for name in ("n", "solved", "passed"))
    return EvaluationAnswer(n=n, solved=solved, solve_rate=solved / n, pass_at_1=passed / n)
