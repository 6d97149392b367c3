"""Queries on checkpoints, and on when their folders are looked at."""

from collections.abc import Collection, Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import case, func, or_, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import joinedload

from app.models import Checkpoint, CheckpointKind, CheckpointWatch, Run


async def find_by_slug(session: AsyncSession, slug: str) -> Checkpoint | None:
    """With its run and what the run was made from."""
    run = joinedload(Checkpoint.run, innerjoin=True)
    query = select(Checkpoint).where(Checkpoint.slug == slug)
    return await session.scalar(
        query.options(
            run.joinedload(Run.config, innerjoin=True),
            run.joinedload(Run.experiment, innerjoin=True),
            run.joinedload(Run.cluster),
        )
    )


async def list_of_run(
    session: AsyncSession,
    run_id: UUID,
    *,
    kind: CheckpointKind | None = None,
    after: tuple[int, UUID] | None = None,
    limit: int,
) -> Sequence[Checkpoint]:
    """Highest step first; `after` is the place of the last one already shown."""
    query = select(Checkpoint).where(Checkpoint.run_id == run_id)
    if kind is not None:
        query = query.where(Checkpoint.kind == kind)
    if after is not None:
        query = query.where(tuple_(Checkpoint.step, Checkpoint.id) < after)
    order = query.order_by(Checkpoint.step.desc(), Checkpoint.id.desc())
    return (await session.scalars(order.limit(limit))).all()


async def list_of_steps(
    session: AsyncSession, run_id: UUID, steps: Collection[int]
) -> Sequence[Checkpoint]:
    query = select(Checkpoint).where(Checkpoint.run_id == run_id, Checkpoint.step.in_(steps))
    return (await session.scalars(query)).all()


async def count_of_run(session: AsyncSession, run_id: UUID) -> int:
    query = select(func.count()).select_from(Checkpoint).where(Checkpoint.run_id == run_id)
    return int(await session.scalar(query) or 0)


async def wake(session: AsyncSession, run_id: UUID, now: datetime) -> bool:
    """Has the folder looked at; False if nobody watches it yet. Holds others off until the end."""
    watch = CheckpointWatch
    later = or_(watch.due_at.is_(None), watch.due_at > now)
    change = (
        update(watch)
        .where(watch.run_id == run_id)
        .values(revision=watch.revision + 1, due_at=case((later, now), else_=watch.due_at))
        .returning(watch.id)
    )
    found = await session.execute(change, execution_options={"synchronize_session": False})
    return found.first() is not None
