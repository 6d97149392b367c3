"""Queries on sweeps. They come with their experiment and the version that they vary."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import Select, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import joinedload

from app.models import Experiment, Sweep


async def find_by_slug(session: AsyncSession, slug: str) -> Sweep | None:
    return await session.scalar(_loaded().where(Sweep.slug == slug))


async def list_before(
    session: AsyncSession,
    *,
    projects: frozenset[UUID] | None,
    experiment_id: UUID | None,
    before: UUID | None,
    limit: int,
) -> Sequence[Sweep]:
    """Newest first; `before` is the id of the last one already shown."""
    query = _loaded().order_by(Sweep.id.desc()).limit(limit)
    if projects is not None:
        query = query.where(Sweep.project_id.in_(projects))
    if experiment_id is not None:
        query = query.where(Sweep.experiment_id == experiment_id)
    if before is not None:
        query = query.where(Sweep.id < before)
    return (await session.scalars(query)).all()


def _loaded() -> Select[Sweep]:
    experiment = joinedload(Sweep.experiment, innerjoin=True)
    return select(Sweep).options(
        experiment.joinedload(Experiment.project, innerjoin=True),
        joinedload(Sweep.config, innerjoin=True),
    )
