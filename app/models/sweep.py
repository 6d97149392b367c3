"""Sweeps: many runs of one config version, each with values of its own."""

from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column, relationship

from app.models.base import Base, IdMixin, text_enum
from app.models.project import Config, Experiment


class SweepKind(StrEnum):
    """How the values of a sweep's runs were chosen; see `app/sweeps/expansion.py`."""

    GRID = "grid"
    RANDOM = "random"
    EXPLICIT = "explicit"


class Sweep(IdMixin, Base):
    """Runs of the version `config`, at most `max_running_runs` of them under way at once.

    `space` is what was asked for, so that it can be asked for again; `keys` are those it sets.
    """

    __tablename__ = "sweep"

    slug: Mapped[str] = mapped_column(String(32), unique=True)
    name: Mapped[str] = mapped_column(String(200))
    project_id: Mapped[UUID] = mapped_column(ForeignKey("project.id"))
    experiment_id: Mapped[UUID] = mapped_column(ForeignKey("experiment.id"), index=True)
    config_id: Mapped[UUID] = mapped_column(ForeignKey("config.id"))
    kind: Mapped[SweepKind] = mapped_column(text_enum(SweepKind))
    space: Mapped[dict[str, Any]]
    keys: Mapped[list[str]]
    max_running_runs: Mapped[int]
    owner: Mapped[str] = mapped_column(String(200))
    created_at: Mapped[datetime]

    experiment: Mapped[Experiment] = relationship(lazy="raise")
    config: Mapped[Config] = relationship(lazy="raise")
