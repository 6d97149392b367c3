"""Episodes with their lanes and turns, and the rollouts of training evaluations."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey, Index, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from app.episodes.states import EpisodeOrigin, LaneStatus, Outcome, Source
from app.models.base import Base, IdMixin, text_enum
from app.models.project import Project


class Episode(IdMixin, Base):
    """One maze, played in up to four lanes.

    Conversations and pictures are rebuilt from its task and the answers (`app/episodes/engine.py`).
    `sampling` is what models were sent beside the messages. `parent_turn` is the number of turns
    that it took over from the episode it was branched from.
    """

    __tablename__ = "episode"
    __table_args__ = (
        Index("ix_episode_project_id_origin_id", "project_id", "origin", "id"),
        Index("ix_episode_origin_id", "origin", "id"),
    )

    slug: Mapped[str] = mapped_column(String(32), unique=True)
    project_id: Mapped[UUID] = mapped_column(ForeignKey("project.id"))
    origin: Mapped[EpisodeOrigin] = mapped_column(text_enum(EpisodeOrigin))
    env_id: Mapped[str] = mapped_column(String(64))
    seed: Mapped[int] = mapped_column(BigInteger)
    max_turns: Mapped[int]
    dialect: Mapped[str] = mapped_column(String(32))
    max_input_tokens: Mapped[int | None]
    sampling: Mapped[dict[str, Any]]
    owner: Mapped[str] = mapped_column(String(200))
    created_at: Mapped[datetime]
    parent_id: Mapped[UUID | None] = mapped_column(ForeignKey("episode.id"), index=True)
    parent_turn: Mapped[int | None]

    project: Mapped[Project] = relationship(lazy="raise")
    parent: Mapped["Episode | None"] = relationship(lazy="raise", remote_side="Episode.id")
    lanes: Mapped[list["EpisodeLane"]] = relationship(
        lazy="raise", order_by="EpisodeLane.number", viewonly=True
    )


class EpisodeLane(IdMixin, Base):
    """One player of an episode, numbered from 1: a model of an endpoint, or a person (no endpoint).

    `endpoint` is the endpoint's slug, which may be gone by now; its name is kept beside it.
    `failure` is `{kind, message, is_retryable}`. While `claim_until` is ahead somebody is asking
    for turn `turn_count + 1`; afterwards that turn may be claimed again.
    """

    __tablename__ = "episode_lane"
    __table_args__ = (UniqueConstraint("episode_id", "number"),)

    episode_id: Mapped[UUID] = mapped_column(ForeignKey("episode.id"))
    number: Mapped[int]
    endpoint: Mapped[str | None] = mapped_column(String(64))
    endpoint_name: Mapped[str] = mapped_column(String(200), default="")
    model: Mapped[str] = mapped_column(String(300), default="")
    max_model_len: Mapped[int | None] = mapped_column(BigInteger)
    status: Mapped[LaneStatus] = mapped_column(text_enum(LaneStatus))
    outcome: Mapped[Outcome | None] = mapped_column(text_enum(Outcome))
    failure: Mapped[dict[str, Any] | None]
    turn_count: Mapped[int] = mapped_column(default=0)
    reward: Mapped[float] = mapped_column(default=0.0)
    claim_token: Mapped[str | None] = mapped_column(String(36))
    claim_until: Mapped[datetime | None]

    turns: Mapped[list["EpisodeTurn"]] = relationship(
        lazy="raise", order_by="EpisodeTurn.number", viewonly=True
    )


class EpisodeTurn(Base):
    """One answer as it came; written once."""

    __tablename__ = "episode_turn"

    lane_id: Mapped[UUID] = mapped_column(ForeignKey("episode_lane.id"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    text: Mapped[str] = mapped_column(Text)
    source: Mapped[Source] = mapped_column(text_enum(Source))
    finish_reason: Mapped[str | None] = mapped_column(String(64))
    prompt_tokens: Mapped[int | None]
    completion_tokens: Mapped[int | None]
    latency_seconds: Mapped[float | None]
    first_token_seconds: Mapped[float | None]
    created_at: Mapped[datetime]


class TrainingRollouts(Base):
    """The answers of all episodes of one training evaluation, packed (`app/episodes/rollouts.py`).

    The dump that they were read from may be gone.
    """

    __tablename__ = "training_rollouts"

    evaluation_id: Mapped[UUID] = mapped_column(
        ForeignKey("training_evaluation.id"), primary_key=True
    )
    payload: Mapped[bytes]
