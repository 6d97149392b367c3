"""Queries on episodes. They come with their lanes; turns only where they are asked for."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import delete, or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import joinedload, selectinload

from app.episodes.states import LONGEST_CLAIM, EpisodeOrigin
from app.models import Episode, EpisodeLane, EpisodeTurn, TrainingRollouts

_WITH = (
    joinedload(Episode.project, innerjoin=True),
    joinedload(Episode.parent),
)


async def find_by_slug(
    session: AsyncSession, slug: str, *, is_locked: bool = False
) -> Episode | None:
    """With all its turns. Locked until the transaction ends, if asked."""
    query = (
        select(Episode)
        .where(Episode.slug == slug)
        .options(*_WITH, selectinload(Episode.lanes).selectinload(EpisodeLane.turns))
        .execution_options(populate_existing=True)
    )
    return await session.scalar(query.with_for_update(of=Episode) if is_locked else query)


async def list_before(
    session: AsyncSession,
    *,
    projects: frozenset[UUID] | None,
    origin: EpisodeOrigin,
    before: UUID | None,
    limit: int,
) -> Sequence[Episode]:
    """Newest first, without turns; `before` is the id of the last one already shown."""
    query = (
        select(Episode)
        .where(Episode.origin == origin)
        .options(*_WITH, selectinload(Episode.lanes))
        .order_by(Episode.id.desc())
        .limit(limit)
    )
    if projects is not None:
        query = query.where(Episode.project_id.in_(projects))
    if before is not None:
        query = query.where(Episode.id < before)
    return (await session.scalars(query)).all()


async def list_branches(session: AsyncSession, episode_id: UUID, *, limit: int) -> list[Episode]:
    """The newest of those that were branched from it, oldest first, without lanes."""
    query = select(Episode).where(Episode.parent_id == episode_id).order_by(Episode.id.desc())
    return list(reversed((await session.scalars(query.limit(limit))).all()))


async def claim(
    session: AsyncSession, lane: EpisodeLane, *, token: str, now: datetime, until: datetime
) -> bool:
    """Takes the lane's next turn, unless somebody has it or it was taken meanwhile."""
    return await _changed(
        session,
        lane,
        or_(
            EpisodeLane.claim_until.is_(None),
            EpisodeLane.claim_until <= now,
            EpisodeLane.claim_until > now + LONGEST_CLAIM,
        ),
        values={"claim_token": token, "claim_until": until},
    )


async def apply(
    session: AsyncSession, lane: EpisodeLane, *, token: str, values: dict[str, Any]
) -> bool:
    """Writes what came of a claim and ends it; False if it was not ours any more."""
    ended: dict[str, Any] = {"claim_token": None, "claim_until": None}
    return await _changed(session, lane, EpisodeLane.claim_token == token, values=values | ended)


async def has_claim(session: AsyncSession, lane_id: UUID, token: str) -> bool:
    """Whether the claim still stands: a lane that was stopped or deleted has none."""
    query = select(EpisodeLane.id).where(
        EpisodeLane.id == lane_id, EpisodeLane.claim_token == token
    )
    return await session.scalar(query) is not None


async def end_claim(session: AsyncSession, lane_id: UUID, token: str) -> None:
    await session.execute(
        update(EpisodeLane)
        .where(EpisodeLane.id == lane_id, EpisodeLane.claim_token == token)
        .values(claim_token=None, claim_until=None)
    )


async def remove(session: AsyncSession, episode: Episode) -> None:
    """With its lanes and turns; what was branched from it stays."""
    lanes = select(EpisodeLane.id).where(EpisodeLane.episode_id == episode.id)
    # A turn that is just being stored changes its lane first: none may come in between.
    await session.execute(lanes.with_for_update())
    await session.execute(delete(EpisodeTurn).where(EpisodeTurn.lane_id.in_(lanes)))
    await session.execute(delete(EpisodeLane).where(EpisodeLane.episode_id == episode.id))
    orphans = update(Episode).where(Episode.parent_id == episode.id)
    await session.execute(orphans.values(parent_id=None))
    await session.execute(delete(Episode).where(Episode.id == episode.id))


async def find_rollouts(session: AsyncSession, evaluation_id: UUID) -> bytes | None:
    query = select(TrainingRollouts.payload).where(TrainingRollouts.evaluation_id == evaluation_id)
    return await session.scalar(query)


async def _changed(
    session: AsyncSession, lane: EpisodeLane, condition: Any, *, values: dict[str, Any]
) -> bool:
    result = await session.execute(
        update(EpisodeLane)
        .where(EpisodeLane.id == lane.id, EpisodeLane.turn_count == lane.turn_count, condition)
        .values(**values)
        .returning(EpisodeLane.id),
        execution_options={"synchronize_session": False},
    )
    return result.scalar() is not None
