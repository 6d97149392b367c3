"""Queries on experiments and configs. Experiments come with their project."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import Select, func, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import joinedload

from app.models import Config, Experiment


async def find_by_slug(session: AsyncSession, slug: str) -> Experiment | None:
    return await session.scalar(_placed().where(Experiment.slug == slug))


async def find_by_name(session: AsyncSession, project_id: UUID, name: str) -> Experiment | None:
    """The newest experiment of that name; names may repeat."""
    query = (
        _placed()
        .where(Experiment.project_id == project_id, Experiment.name == name)
        .order_by(Experiment.id.desc())
        .limit(1)
    )
    return await session.scalar(query)


async def list_before(
    session: AsyncSession, *, projects: frozenset[UUID] | None, before: UUID | None, limit: int
) -> Sequence[Experiment]:
    """Newest first; `before` is the id of the last one already shown."""
    query = _placed().order_by(Experiment.id.desc()).limit(limit)
    if projects is not None:
        query = query.where(Experiment.project_id.in_(projects))
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


def _placed() -> Select[Experiment]:
    return select(Experiment).options(joinedload(Experiment.project, innerjoin=True))
