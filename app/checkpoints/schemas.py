"""JSON shapes of checkpoints."""

from datetime import datetime

from pydantic import Field

from app.api.schemas import Answer
from app.checkpoints.service import Shown
from app.models import CheckpointKind


class CheckpointAnswer(Answer):
    """`solve_rate` and `pass_at_1` are the run's own, of `n` mazes; null where it measured none.

    The best evaluated step and the best that can be promoted may differ: not each step is exported.
    """

    id: str = Field(examples=["ckpt-7fk2m9qd"])
    run_id: str = Field(examples=["run-7fk2m9qd"])
    attempt: int
    step: int
    kind: CheckpointKind
    path: str
    size_bytes: int | None = Field(description="Null where only the log tells of it")
    complete: bool
    problem: str = Field(description="Why it is not complete, or empty")
    saved_at: datetime
    is_gone: bool = Field(description="Removed again: a trainer may keep only its newest ones")
    solve_rate: float | None
    pass_at_1: float | None
    n: int | None
    is_best_evaluated: bool
    is_best_exportable: bool

    @classmethod
    def of(cls, shown: Shown, run: str) -> "CheckpointAnswer":
        row = shown.row
        return cls(
            id=row.slug,
            run_id=run,
            attempt=row.attempt_number,
            step=row.step,
            kind=row.kind,
            path=row.path,
            size_bytes=row.size_bytes,
            complete=row.is_complete,
            problem=row.problem,
            saved_at=row.saved_at,
            is_gone=row.gone_at is not None,
            solve_rate=shown.solve_rate,
            pass_at_1=shown.pass_at_1,
            n=shown.evaluation.n if shown.evaluation else None,
            is_best_evaluated=shown.is_best_evaluated,
            is_best_exportable=shown.is_best_exportable,
        )
