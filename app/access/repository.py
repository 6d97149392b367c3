"""Queries that rights are decided by."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute

from app.models import (
    Adapter,
    Checkpoint,
    CodeUpload,
    Episode,
    Evaluation,
    Experiment,
    Project,
    ProjectMember,
    Promotion,
    Role,
    Run,
    Sweep,
)


class ObjectKind(StrEnum):
    """What a route's address may name; each belongs to one project."""

    PROJECT = "project"
    EXPERIMENT = "experiment"
    RUN = "run"
    SWEEP = "sweep"
    EVALUATION = "evaluation"
    CODE = "code"
    EPISODE = "episode"
    CHECKPOINT = "checkpoint"
    PROMOTION = "promotion"
    ADAPTER = "adapter"


_PLACES: dict[ObjectKind, tuple[InstrumentedAttribute[str], InstrumentedAttribute[UUID]]] = {
    ObjectKind.PROJECT: (Project.slug, Project.id),
    ObjectKind.EXPERIMENT: (Experiment.slug, Experiment.project_id),
    ObjectKind.RUN: (Run.slug, Run.project_id),
    ObjectKind.SWEEP: (Sweep.slug, Sweep.project_id),
    ObjectKind.EVALUATION: (Evaluation.slug, Evaluation.project_id),
    ObjectKind.CODE: (CodeUpload.slug, CodeUpload.project_id),
    ObjectKind.EPISODE: (Episode.slug, Episode.project_id),
    ObjectKind.CHECKPOINT: (Checkpoint.slug, Checkpoint.project_id),
    ObjectKind.PROMOTION: (Promotion.slug, Promotion.project_id),
    ObjectKind.ADAPTER: (Adapter.slug, Adapter.project_id),
}


@dataclass(frozen=True, slots=True)
class Membership:
    """A project that a person can see, and their role in it."""

    project_id: UUID
    slug: str
    name: str
    role: Role


async def memberships_of(session: AsyncSession, user_id: UUID) -> list[Membership]:
    """The projects of a person, by name."""
    query = (
        select(Project.id, Project.slug, Project.name, ProjectMember.role)
        .join(ProjectMember, ProjectMember.project_id == Project.id)
        .where(ProjectMember.user_id == user_id)
        .order_by(func.lower(Project.name), Project.id)
    )
    return [Membership(*row) for row in await session.execute(query)]


async def all_projects(session: AsyncSession) -> list[Membership]:
    """Every project, as an administrator of the site sees it, by name."""
    query = select(Project.id, Project.slug, Project.name)
    rows = await session.execute(query.order_by(func.lower(Project.name), Project.id))
    return [Membership(*row, Role.ADMINISTRATOR) for row in rows]


async def roles_of(session: AsyncSession, user_id: UUID) -> dict[UUID, Role]:
    """The roles of a person, by project."""
    query = select(ProjectMember.project_id, ProjectMember.role).where(
        ProjectMember.user_id == user_id
    )
    return {row[0]: row[1] for row in await session.execute(query)}


async def projects_of(
    session: AsyncSession, kind: ObjectKind, slugs: Sequence[str]
) -> dict[str, UUID]:
    """The project of each object that exists, by the object's slug, in one query."""
    slug, project_id = _PLACES[kind]
    rows = await session.execute(select(slug, project_id).where(slug.in_(slugs)))
    return {row[0]: row[1] for row in rows}
