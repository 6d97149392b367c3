"""Queries on projects, experiments and configs."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.models import Config, Experiment, Project


async def find_project(session: AsyncSession, slug: str) -> Project | None:
    return await session.scalar(select(Project).where(Project.slug == slug))


async def find_by_slug(session: AsyncSession, slug: str) -> Experiment | None:
    return await session.scalar(select(Experiment).where(Experiment.slug == slug))


async def find_by_name(session: AsyncSession, project_id: UUID, name: str) -> Experiment | None:
    """The newest experiment of that name; names may repeat."""
    query = (
        select(Experiment)
        .where(Experiment.project_id == project_id, Experiment.name == name)
        .order_by(Experiment.id.desc())
        .limit(1)
    )
    return await session.scalar(query)


async def list_before(
    session: AsyncSession, *, before: UUID | None, limit: int
) -> Sequence[Experiment]:
    """Newest first; `before` is the id of the last one already shown."""
    query = select(Experiment).order_by(Experiment.id.desc()).limit(limit)
    if before is not None:
        query = query.where(Experiment.id < before)
    return (await session.scalars(query)).all()


async def newest_configs(
    session: AsyncSession, experiment_ids: Sequence[UUID]
) -> dict[UUID, Config]:
    """The highest config version of each experiment."""
    newest = (
        select(Config.experiment_id, func.max(Config.version).label("version"))
        .where(Config.experiment_id.in_(experiment_ids))
        .group_by(Config.experiment_id)
        .subquery()
    )
    query = select(Config).join(
        newest,
        (Config.experiment_id == newest.c.experiment_id) & (Config.version == newest.c.version),
    )
    return {config.experiment_id: config for config in await session.scalars(query)}
