"""Adapters and the promotions that make them."""

from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey, Index, String
from sqlalchemy.orm import Mapped, mapped_column, relationship

from app.models.base import Base, IdMixin, LeaseMixin, text_enum
from app.models.checkpoint import Checkpoint
from app.models.project import Config
from app.models.run import Run


class AdapterStatus(StrEnum):
    """`promoting`: not there yet. `ready`: complete at its destination. `failed`: nothing there.

    `deleted`: moved aside. A name is never used again, whatever became of it.
    """

    PROMOTING = "promoting"
    READY = "ready"
    FAILED = "failed"
    DELETED = "deleted"


class Adapter(IdMixin, Base):
    """LoRA weights under a name of their own at a destination, and where they come from.

    Lineage is kept by value: the checkpoint may be saved again or removed by its run.
    `evaluation` is `{solved, passed, n}` of the run's own evaluation at that step, or None.
    `sha256` is of the weights.
    """

    __tablename__ = "adapter"
    __table_args__ = (Index("ix_adapter_project_id_id", "project_id", "id"),)

    slug: Mapped[str] = mapped_column(String(32), unique=True)
    name: Mapped[str] = mapped_column(String(63), unique=True)
    project_id: Mapped[UUID] = mapped_column(ForeignKey("project.id"))
    run_id: Mapped[UUID] = mapped_column(ForeignKey("run.id"), index=True)
    checkpoint_id: Mapped[UUID] = mapped_column(ForeignKey("checkpoint.id"), index=True)
    attempt_number: Mapped[int]
    step: Mapped[int] = mapped_column(BigInteger)
    config_id: Mapped[UUID] = mapped_column(ForeignKey("config.id"))
    evaluation: Mapped[dict[str, Any] | None]
    status: Mapped[AdapterStatus] = mapped_column(text_enum(AdapterStatus))
    destination: Mapped[str] = mapped_column(String(64))
    base: Mapped[str] = mapped_column(String(500), default="")
    rank: Mapped[int | None]
    size_bytes: Mapped[int | None] = mapped_column(BigInteger)
    sha256: Mapped[str | None] = mapped_column(String(64))
    created_by: Mapped[str] = mapped_column(String(200))
    created_at: Mapped[datetime]
    ready_at: Mapped[datetime | None]
    deleted_at: Mapped[datetime | None]

    run: Mapped[Run] = relationship(lazy="raise")
    checkpoint: Mapped[Checkpoint] = relationship(lazy="raise")
    config: Mapped[Config] = relationship(lazy="raise")


class PromotionStatus(StrEnum):
    """`queued`: a worker has not begun. `running`: checked and copied. Then one of the others."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


class Promotion(IdMixin, LeaseMixin, Base):
    """The copy of a checkpoint's adapter to its destination, under the adapter's name.

    `files` are `{name, size, sha256}` of what is copied, once that was looked at: every try copies
    the same bytes. `failure` is `{kind, message, hint}`; `tries` counts those since it was asked.
    """

    __tablename__ = "promotion"

    slug: Mapped[str] = mapped_column(String(32), unique=True)
    project_id: Mapped[UUID] = mapped_column(ForeignKey("project.id"))
    adapter_id: Mapped[UUID] = mapped_column(ForeignKey("adapter.id"), unique=True)
    status: Mapped[PromotionStatus] = mapped_column(text_enum(PromotionStatus))
    files: Mapped[list[dict[str, Any]]] = mapped_column(default=list)
    copied_bytes: Mapped[int] = mapped_column(BigInteger, default=0)
    total_bytes: Mapped[int | None] = mapped_column(BigInteger)
    tries: Mapped[int] = mapped_column(default=0)
    failure: Mapped[dict[str, Any] | None]
    asked_by: Mapped[str] = mapped_column(String(200))
    created_at: Mapped[datetime]
    started_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]

    adapter: Mapped[Adapter] = relationship(lazy="raise")
