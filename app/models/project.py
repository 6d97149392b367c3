"""Projects and experiments, and the immutable configs that runs are made from."""

from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import ForeignKey, Index, String, Text, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from app.models.base import Base, IdMixin, RowNumber, text_enum


class Role(StrEnum):
    """What a member may do in a project; each holds what the ones before it do."""

    VIEWER = "viewer"
    MEMBER = "member"
    ADMINISTRATOR = "administrator"


class Project(IdMixin, Base):
    """A container of experiments, with members."""

    __tablename__ = "project"

    slug: Mapped[str] = mapped_column(String(64), unique=True)
    name: Mapped[str] = mapped_column(String(200))
    created_at: Mapped[datetime]


class ProjectMember(Base):
    __tablename__ = "project_member"

    project_id: Mapped[UUID] = mapped_column(ForeignKey("project.id"), primary_key=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("user.id"), primary_key=True, index=True)
    role: Mapped[Role] = mapped_column(text_enum(Role))
    created_at: Mapped[datetime]


class Experiment(IdMixin, Base):
    """A named question: config versions and their runs.

    `revision` rises with each change, so that a change of what has changed since is noticed.
    `forked_version` is the version of the experiment `forked_from` that it began with.
    """

    __tablename__ = "experiment"

    slug: Mapped[str] = mapped_column(String(32), unique=True)
    project_id: Mapped[UUID] = mapped_column(ForeignKey("project.id"), index=True)
    name: Mapped[str] = mapped_column(String(200), index=True)
    hypothesis: Mapped[str] = mapped_column(Text, default="")
    tags: Mapped[list[str]] = mapped_column(default=list)
    owner: Mapped[str] = mapped_column(String(200))
    created_at: Mapped[datetime]
    archived_at: Mapped[datetime | None]
    revision: Mapped[int] = mapped_column(default=1)
    forked_from_id: Mapped[UUID | None] = mapped_column(ForeignKey("experiment.id"), index=True)
    forked_version: Mapped[int | None]

    project: Mapped[Project] = relationship(lazy="raise")
    forked_from: Mapped["Experiment | None"] = relationship(
        lazy="raise", remote_side="Experiment.id"
    )


class Config(IdMixin, Base):
    """Validated, frozen settings. `version` None: made by one run's overrides, no version.

    `base_version` is then the version that the overrides were put over, if there was one.
    `digest` is the SHA-256 of recipe, recipe version and the sorted values. `yaml` is the text
    that was typed, comments and all, or None; it means the same values, and is read only where
    it is asked for: lists of configs would else carry it along.
    """

    __tablename__ = "config"
    __table_args__ = (UniqueConstraint("experiment_id", "version"),)

    experiment_id: Mapped[UUID] = mapped_column(ForeignKey("experiment.id"), index=True)
    version: Mapped[int | None]
    recipe: Mapped[str] = mapped_column(String(64))
    recipe_version: Mapped[int]
    digest: Mapped[str] = mapped_column(String(64), index=True)
    values: Mapped[dict[str, Any]]
    created_by: Mapped[str] = mapped_column(String(200))
    created_at: Mapped[datetime]
    base_version: Mapped[int | None]
    yaml: Mapped[str | None] = mapped_column(Text, deferred=True, deferred_raiseload=True)


class ConfigKey(Base):
    """The name of a config value, kept once."""

    __tablename__ = "config_key"

    id: Mapped[int] = mapped_column(RowNumber, primary_key=True)
    name: Mapped[str] = mapped_column(String(300), unique=True)


class ConfigValue(Base):
    """One config value of a run, for filter, sort and difference.

    `text` is empty where `number` says all of it: of numbers that a float64 holds exactly.
    """

    __tablename__ = "config_value"
    __table_args__ = (
        # With the run: an order is walked without looking at the rows.
        Index(
            "ix_config_value_key_id_number",
            "key_id",
            "number",
            "run_id",
            sqlite_where=text("number IS NOT NULL"),
            postgresql_where=text("number IS NOT NULL"),
        ),
        Index(
            "ix_config_value_key_id_text",
            "key_id",
            "text",
            "run_id",
            sqlite_where=text("text <> ''"),
            postgresql_where=text("text <> ''"),
        ),
        # The rows are their own index: each run has dozens.
        {"sqlite_with_rowid": False},
    )

    run_id: Mapped[UUID] = mapped_column(ForeignKey("run.id"), primary_key=True)
    key_id: Mapped[int] = mapped_column(ForeignKey("config_key.id"), primary_key=True)
    number: Mapped[float | None]
    text: Mapped[str] = mapped_column(String(500))
