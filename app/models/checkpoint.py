"""What runs have saved: checkpoints, and when their folders are looked at."""

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey, Index, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from app.models.base import Base, IdMixin, LeaseMixin, text_enum
from app.models.run import Run


class CheckpointKind(StrEnum):
    """`state`: all that training goes on from. `adapter`: an export of the LoRA weights alone."""

    STATE = "state"
    ADAPTER = "adapter"


class CheckpointWatch(IdMixin, LeaseMixin, Base):
    """When to look again at the folder in which a run saves.

    `revision` rises with each line of its log that tells of something saved: a look that began
    before such a line is followed by another.
    """

    __tablename__ = "checkpoint_watch"

    run_id: Mapped[UUID] = mapped_column(ForeignKey("run.id"), unique=True)
    revision: Mapped[int] = mapped_column(default=0)


class Checkpoint(IdMixin, Base):
    """Something that a run has saved at a step; saved again by a newer attempt, it is that one's.

    `seen_at` None: only the log told of it. `size_bytes` None: nobody has seen it. `problem` says
    why it is not complete. `gone_at`: the trainer keeps only its newest ones.
    """

    __tablename__ = "checkpoint"
    __table_args__ = (
        UniqueConstraint("run_id", "kind", "step"),
        Index("ix_checkpoint_run_id_step_id", "run_id", "step", "id"),
    )

    slug: Mapped[str] = mapped_column(String(32), unique=True)
    project_id: Mapped[UUID] = mapped_column(ForeignKey("project.id"))
    run_id: Mapped[UUID] = mapped_column(ForeignKey("run.id"))
    attempt_number: Mapped[int]
    kind: Mapped[CheckpointKind] = mapped_column(text_enum(CheckpointKind))
    step: Mapped[int] = mapped_column(BigInteger)
    path: Mapped[str] = mapped_column(String(1000))
    size_bytes: Mapped[int | None] = mapped_column(BigInteger)
    is_complete: Mapped[bool]
    problem: Mapped[str] = mapped_column(Text, default="")
    saved_at: Mapped[datetime]
    seen_at: Mapped[datetime | None]
    gone_at: Mapped[datetime | None]

    run: Mapped[Run] = relationship(lazy="raise")
