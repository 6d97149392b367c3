"""Runs, their attempts, and the events that happened to them."""

from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey, Index, String, Text, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from app.models.base import Base, IdMixin, LeaseMixin, text_enum
from app.models.cluster import Cluster
from app.models.project import Config, Experiment
from app.models.sweep import Sweep


class RunStatus(StrEnum):
    """Observed status of a run; transitions are in `app/runs/states.py`."""

    QUEUED = "queued"
    SUBMITTING = "submitting"
    PENDING = "pending"
    RUNNING = "running"
    STOPPING = "stopping"
    WAITING_RETRY = "waiting_retry"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    STOPPED = "stopped"
    LOST = "lost"


class AttemptStatus(StrEnum):
    """Observed status of one Ray job of a run."""

    CREATED = "created"
    SUBMITTING = "submitting"
    PENDING = "pending"
    RUNNING = "running"
    STOPPING = "stopping"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    STOPPED = "stopped"
    LOST = "lost"


class DesiredStatus(StrEnum):
    RUN = "run"
    STOP = "stop"


class RunOrigin(StrEnum):
    """`submitted`: a worker submits it to Ray. `external`: its owner pushes its metrics."""

    SUBMITTED = "submitted"
    EXTERNAL = "external"


class Run(IdMixin, LeaseMixin, Base):
    """One requested execution of a config, outliving retries.

    The web writes `desired_status`; the worker writes `status` and progress. `conditions` are
    `{kind, since, message}` rows said beside the status (`unreachable`, `stalled`, …).
    `metrics_revision` counts the appends to its series: while it stands, no chart has changed.
    `sweep_number` is its place in the sweep that made it, from 1. The table of runs leaves archived
    ones out, unless it is asked for them.
    """

    __tablename__ = "run"
    __table_args__ = (
        Index("ix_run_project_id_id", "project_id", "id"),
        Index("ix_run_cluster_id_status", "cluster_id", "status"),
        Index("uq_run_sweep_id_sweep_number", "sweep_id", "sweep_number", unique=True),
        # For the table of runs, sorted by these.
        Index("ix_run_name", "name"),
        Index("ix_run_started_at", "started_at"),
        Index("ix_run_ended_at", "ended_at"),
        Index("ix_run_status", "status"),
        Index(
            "ix_run_pinned_at",
            "pinned_at",
            sqlite_where=text("pinned_at IS NOT NULL"),
            postgresql_where=text("pinned_at IS NOT NULL"),
        ),
    )

    slug: Mapped[str] = mapped_column(String(32), unique=True)
    name: Mapped[str] = mapped_column(String(200))
    project_id: Mapped[UUID] = mapped_column(ForeignKey("project.id"))
    experiment_id: Mapped[UUID] = mapped_column(ForeignKey("experiment.id"), index=True)
    config_id: Mapped[UUID] = mapped_column(ForeignKey("config.id"))
    cluster_id: Mapped[UUID | None] = mapped_column(ForeignKey("cluster.id"))
    sweep_id: Mapped[UUID | None] = mapped_column(ForeignKey("sweep.id"))
    sweep_number: Mapped[int | None]
    origin: Mapped[RunOrigin] = mapped_column(text_enum(RunOrigin))
    status: Mapped[RunStatus] = mapped_column(text_enum(RunStatus))
    status_reason: Mapped[str] = mapped_column(Text, default="")
    desired_status: Mapped[DesiredStatus] = mapped_column(text_enum(DesiredStatus))
    conditions: Mapped[list[dict[str, Any]]] = mapped_column(default=list)
    tags: Mapped[list[str]] = mapped_column(default=list)
    owner: Mapped[str] = mapped_column(String(200))
    created_at: Mapped[datetime]
    started_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]
    deleted_at: Mapped[datetime | None]
    pinned_at: Mapped[datetime | None]
    archived_at: Mapped[datetime | None]
    phase: Mapped[str | None] = mapped_column(String(100))
    step: Mapped[int | None] = mapped_column(BigInteger)
    total_steps: Mapped[int | None] = mapped_column(BigInteger)
    seconds_per_step: Mapped[float | None]
    progress_at: Mapped[datetime | None]
    metrics_revision: Mapped[int] = mapped_column(BigInteger, default=0)

    experiment: Mapped[Experiment] = relationship(lazy="raise")
    config: Mapped[Config] = relationship(lazy="raise")
    cluster: Mapped[Cluster | None] = relationship(lazy="raise")
    sweep: Mapped[Sweep | None] = relationship(lazy="raise")
    attempts: Mapped[list["Attempt"]] = relationship(
        lazy="raise", order_by="Attempt.number", viewonly=True
    )


class RunTag(Base):
    """A tag of a run once more, for filters; `Run.tags` keeps their order."""

    __tablename__ = "run_tag"
    __table_args__ = ({"sqlite_with_rowid": False},)

    tag: Mapped[str] = mapped_column(String(200), primary_key=True)
    run_id: Mapped[UUID] = mapped_column(ForeignKey("run.id"), primary_key=True, index=True)


class TrackingEntry(Base):
    """A param or a tag that an MLflow client set on a run, letter for letter."""

    __tablename__ = "tracking_entry"

    run_id: Mapped[UUID] = mapped_column(ForeignKey("run.id"), primary_key=True)
    kind: Mapped[str] = mapped_column(String(8), primary_key=True)
    key: Mapped[str] = mapped_column(String(500), primary_key=True)
    value: Mapped[str] = mapped_column(Text)


class SavedView(IdMixin, Base):
    """A table of runs that somebody named: `query` is the query string of its page."""

    __tablename__ = "saved_view"
    __table_args__ = (UniqueConstraint("user_id", "name"),)

    slug: Mapped[str] = mapped_column(String(32), unique=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("user.id"))
    name: Mapped[str] = mapped_column(String(200))
    query: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime]


class Attempt(IdMixin, Base):
    """One Ray job of a run, numbered from 1.

    `failure` is `{class, message, evidence, hint}`. `ray_session` is the cluster's session name
    at submission: another name later means that the head was restarted and the job is gone.
    """

    __tablename__ = "attempt"
    __table_args__ = (UniqueConstraint("run_id", "number"),)

    run_id: Mapped[UUID] = mapped_column(ForeignKey("run.id"))
    number: Mapped[int]
    submission_id: Mapped[str] = mapped_column(String(63), unique=True)
    status: Mapped[AttemptStatus] = mapped_column(text_enum(AttemptStatus))
    ray_session: Mapped[str | None] = mapped_column(String(100))
    created_at: Mapped[datetime]
    started_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]
    exit_code: Mapped[int | None]
    failure: Mapped[dict[str, Any] | None]


class Event(IdMixin, Base):
    """Append-only: what changed, from, to, why, who, when."""

    __tablename__ = "event"
    __table_args__ = (Index("ix_event_run_id_id", "run_id", "id"),)

    run_id: Mapped[UUID] = mapped_column(ForeignKey("run.id"))
    attempt_number: Mapped[int | None]
    at: Mapped[datetime]
    actor: Mapped[str] = mapped_column(String(200))
    kind: Mapped[str] = mapped_column(String(32))
    from_status: Mapped[str | None] = mapped_column(String(32))
    to_status: Mapped[str | None] = mapped_column(String(32))
    reason: Mapped[str] = mapped_column(String(64), default="")
    message: Mapped[str] = mapped_column(Text, default="")


class IdempotencyKey(Base):
    """The answer given to a creation call, repeated when the same key comes again."""

    __tablename__ = "idempotency_key"

    caller: Mapped[str] = mapped_column(String(64), primary_key=True)
    key: Mapped[str] = mapped_column(String(200), primary_key=True)
    request_digest: Mapped[str] = mapped_column(String(64))
    answer: Mapped[dict[str, Any]]
    created_at: Mapped[datetime]
