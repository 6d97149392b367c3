"""Queries on adapters and promotions. Each comes with the run and config that it is of."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import Select, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import joinedload

from app.models import Adapter, AdapterStatus, Experiment, Promotion, Run


async def find_adapter(session: AsyncSession, slug: str) -> Adapter | None:
    return await session.scalar(_adapters().where(Adapter.slug == slug))


async def find_named(session: AsyncSession, name: str) -> Adapter | None:
    return await session.scalar(_adapters().where(Adapter.name == name))


async def list_names(session: AsyncSession, beginning: str) -> set[str]:
    """The names that begin so."""
    found = await session.scalars(
        select(Adapter.name).where(Adapter.name.startswith(beginning, autoescape=True))
    )
    return set(found)


async def find_promotion(session: AsyncSession, slug: str) -> Promotion | None:
    return await session.scalar(_promotions().where(Promotion.slug == slug))


async def promotion_of(session: AsyncSession, adapter_id: UUID) -> Promotion:
    found = await session.scalars(_promotions().where(Promotion.adapter_id == adapter_id))
    return found.one()


async def list_before(
    session: AsyncSession,
    *,
    projects: frozenset[UUID] | None,
    run_id: UUID | None,
    with_deleted: bool,
    before: UUID | None,
    limit: int,
) -> Sequence[Promotion]:
    """The promotions of the newest adapters; `before` is the id of the last one already shown."""
    query = _promotions().join(Promotion.adapter).order_by(Adapter.id.desc()).limit(limit)
    if projects is not None:
        query = query.where(Adapter.project_id.in_(projects))
    if run_id is not None:
        query = query.where(Adapter.run_id == run_id)
    if not with_deleted:
        query = query.where(Adapter.status != AdapterStatus.DELETED)
    if before is not None:
        query = query.where(Adapter.id < before)
    return (await session.scalars(query)).all()


async def list_of_checkpoints(session: AsyncSession, run_id: UUID) -> Sequence[Adapter]:
    """The adapters of a run that are not deleted, oldest first, without anything around them."""
    query = select(Adapter).where(Adapter.run_id == run_id, Adapter.status != AdapterStatus.DELETED)
    return (await session.scalars(query.order_by(Adapter.id))).all()


def _adapters() -> Select[Adapter]:
    run = joinedload(Adapter.run, innerjoin=True)
    return select(Adapter).options(
        run.joinedload(Run.experiment, innerjoin=True).joinedload(
            Experiment.project, innerjoin=True
        ),
        joinedload(Adapter.config, innerjoin=True),
        joinedload(Adapter.checkpoint, innerjoin=True),
    )


def _promotions() -> Select[Promotion]:
    adapter = joinedload(Promotion.adapter, innerjoin=True)
    run = adapter.joinedload(Adapter.run, innerjoin=True)
    return select(Promotion).options(
        run.joinedload(Run.experiment, innerjoin=True).joinedload(
            Experiment.project, innerjoin=True
        ),
        adapter.joinedload(Adapter.config, innerjoin=True),
        adapter.joinedload(Adapter.checkpoint, innerjoin=True),
    )
