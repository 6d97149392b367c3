"""Queries that rights are decided by."""

from collections.abc import Sequence
from enum import StrEnum
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute

from app.models import Experiment, Project, ProjectMember, Role, Run


class ObjectKind(StrEnum):
    """What a route's address may name; each belongs to one project."""

    PROJECT = "project"
    EXPERIMENT = "experiment"
    RUN = "run"


_PLACES: dict[ObjectKind, tuple[InstrumentedAttribute[str], InstrumentedAttribute[UUID]]] = {
    ObjectKind.PROJECT: (Project.slug, Project.id),
    ObjectKind.EXPERIMENT: (Experiment.slug, Experiment.project_id),
    ObjectKind.RUN: (Run.slug, Run.project_id),
}


async def roles_of(session: AsyncSession, user_id: UUID) -> dict[UUID, Role]:
    """The memberships of a person, by project."""
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
