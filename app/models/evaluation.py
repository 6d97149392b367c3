"""Evaluations of models on eval sets, item by item, and the eval sets that people add."""

from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import JSON, BigInteger, ForeignKey, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from app.episodes.states import Outcome
from app.models.base import Base, IdMixin, LeaseMixin, text_enum
from app.models.project import Project


class EvaluationStatus(StrEnum):
    """`succeeded`: every episode was played. `failed`: some ended as endpoint errors."""

    QUEUED = "queued"
    RUNNING = "running"
    STOPPING = "stopping"
    STOPPED = "stopped"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


class CustomEvalSet(IdMixin, Base):
    """An eval set of a project; never changed, so that a name means the same mazes for ever.

    The built-in ones are in `app/maze/eval_sets.py`.
    """

    __tablename__ = "eval_set"
    __table_args__ = (UniqueConstraint("project_id", "name"),)

    project_id: Mapped[UUID] = mapped_column(ForeignKey("project.id"))
    name: Mapped[str] = mapped_column(String(64))
    env_id: Mapped[str] = mapped_column(String(64))
    seeds: Mapped[list[int]] = mapped_column(JSON)
    max_turns: Mapped[int]
    dialect: Mapped[str] = mapped_column(String(32))
    solvable_count: Mapped[int]
    owner: Mapped[str] = mapped_column(String(200))
    created_at: Mapped[datetime]

    project: Mapped[Project] = relationship(lazy="raise")


class Evaluation(IdMixin, Base):
    """Models on an eval set; env_id to solvable_count are those of the set when it was made.

    `models` are the fields of `app.episodes.seats.Seat`: the endpoint by its slug, which may be
    gone by now, its name and the model. Each model plays each seed `samples` times; at most
    `concurrency` episodes are under way at one endpoint.
    `conditions` are `{kind, since, message, endpoint}`. `revision` rises with each change.
    """

    __tablename__ = "evaluation"

    slug: Mapped[str] = mapped_column(String(32), unique=True)
    project_id: Mapped[UUID] = mapped_column(ForeignKey("project.id"), index=True)
    name: Mapped[str] = mapped_column(String(200))
    models: Mapped[list[dict[str, Any]]]
    eval_set: Mapped[str] = mapped_column(String(64))
    env_id: Mapped[str] = mapped_column(String(64))
    seeds: Mapped[list[int]] = mapped_column(JSON)
    max_turns: Mapped[int]
    dialect: Mapped[str] = mapped_column(String(32))
    solvable_count: Mapped[int]
    temperature: Mapped[float]
    samples: Mapped[int]
    concurrency: Mapped[int]
    status: Mapped[EvaluationStatus] = mapped_column(text_enum(EvaluationStatus))
    status_reason: Mapped[str] = mapped_column(String(500), default="")
    conditions: Mapped[list[dict[str, Any]]] = mapped_column(default=list)
    revision: Mapped[int] = mapped_column(default=1)
    owner: Mapped[str] = mapped_column(String(200))
    created_at: Mapped[datetime]
    started_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]

    project: Mapped[Project] = relationship(lazy="raise")


class EvaluationItem(IdMixin, LeaseMixin, Base):
    """One episode to play: a model on a seed; played when `outcome` is not None.

    `number` is its place in the evaluation. `lane` numbers the endpoints: of each lane at most
    `concurrency` items are due or leased. `tries` counts how often the endpoint failed it.
    """

    __tablename__ = "evaluation_item"
    __table_args__ = (UniqueConstraint("evaluation_id", "number"),)

    evaluation_id: Mapped[UUID] = mapped_column(ForeignKey("evaluation.id"))
    number: Mapped[int]
    model_number: Mapped[int]
    lane: Mapped[int]
    seed: Mapped[int] = mapped_column(BigInteger)
    sample: Mapped[int]
    tries: Mapped[int] = mapped_column(default=0)
    outcome: Mapped[Outcome | None] = mapped_column(text_enum(Outcome))
    is_solved: Mapped[bool | None]
    is_passed: Mapped[bool | None]
    turns: Mapped[int | None]
    reward: Mapped[float | None]
    message: Mapped[str] = mapped_column(Text, default="")
    episode_id: Mapped[UUID | None] = mapped_column(
        ForeignKey("episode.id", ondelete="SET NULL"), index=True
    )
    ended_at: Mapped[datetime | None]
