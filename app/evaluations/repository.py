"""Queries on eval sets, evaluations and their items."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import ColumnElement, Select, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import joinedload

from app.episodes.states import Outcome
from app.models import CustomEvalSet, Episode, Evaluation, EvaluationItem


async def find_set(session: AsyncSession, project_id: UUID, name: str) -> CustomEvalSet | None:
    return await session.scalar(
        select(CustomEvalSet).where(
            CustomEvalSet.project_id == project_id, CustomEvalSet.name == name
        )
    )


async def list_sets_of(session: AsyncSession, project_id: UUID) -> Sequence[CustomEvalSet]:
    """By name."""
    query = select(CustomEvalSet).where(CustomEvalSet.project_id == project_id)
    return (await session.scalars(query.order_by(CustomEvalSet.name))).all()


async def list_sets_before(
    session: AsyncSession, *, projects: frozenset[UUID] | None, before: UUID | None, limit: int
) -> Sequence[CustomEvalSet]:
    """Newest first, with their projects; `before` is the id of the last one already shown."""
    query = (
        select(CustomEvalSet)
        .options(joinedload(CustomEvalSet.project, innerjoin=True))
        .order_by(CustomEvalSet.id.desc())
        .limit(limit)
    )
    if projects is not None:
        query = query.where(CustomEvalSet.project_id.in_(projects))
    if before is not None:
        query = query.where(CustomEvalSet.id < before)
    return (await session.scalars(query)).all()


async def find_by_slug(session: AsyncSession, slug: str) -> Evaluation | None:
    return await session.scalar(_loaded().where(Evaluation.slug == slug))


async def lock(session: AsyncSession, evaluation_id: UUID) -> Evaluation:
    """The row as it is now; others that want to change it wait."""
    query = _loaded().where(Evaluation.id == evaluation_id).with_for_update(of=Evaluation)
    return (await session.scalars(query, execution_options={"populate_existing": True})).one()


async def list_before(
    session: AsyncSession,
    *,
    projects: frozenset[UUID] | None,
    before: UUID | None,
    limit: int,
) -> Sequence[Evaluation]:
    """Newest first; `before` is the id of the last one already shown."""
    query = _loaded().order_by(Evaluation.id.desc()).limit(limit)
    if projects is not None:
        query = query.where(Evaluation.project_id.in_(projects))
    if before is not None:
        query = query.where(Evaluation.id < before)
    return (await session.scalars(query)).all()


async def count_open(session: AsyncSession, evaluation_id: UUID) -> int:
    """How many items were not played and are handed to nobody."""
    return await session.scalar(select(func.count()).where(*_open(evaluation_id))) or 0


async def hand_out(
    session: AsyncSession, evaluation_id: UUID, *, lane: int, limit: int, now: datetime
) -> int:
    """Makes the first open items of a lane due, in one statement; returns how many."""
    first = (
        select(EvaluationItem.id)
        .where(*_open(evaluation_id), EvaluationItem.lane == lane)
        .order_by(EvaluationItem.number)
        .limit(limit)
        .correlate(None)
    )
    change = update(EvaluationItem).where(EvaluationItem.id.in_(first)).values(due_at=now)
    found = await session.scalars(
        change.returning(EvaluationItem.id), execution_options={"synchronize_session": "fetch"}
    )
    return len(found.all())


async def count_handed_out(
    session: AsyncSession, evaluation_id: UUID, *, but: UUID | None = None
) -> int:
    """How many items a worker plays or waits to play, without the item `but`."""
    query = select(func.count()).where(
        EvaluationItem.evaluation_id == evaluation_id, EvaluationItem.due_at.is_not(None)
    )
    if but is not None:
        query = query.where(EvaluationItem.id != but)
    return await session.scalar(query) or 0


async def error_messages(session: AsyncSession, evaluation_id: UUID) -> Sequence[str]:
    """Of the items that the endpoint failed, in the order of their ends."""
    query = select(EvaluationItem.message).where(
        EvaluationItem.evaluation_id == evaluation_id,
        EvaluationItem.outcome == Outcome.ENDPOINT_ERROR,
    )
    return (await session.scalars(query.order_by(EvaluationItem.ended_at))).all()


async def take_back(session: AsyncSession, evaluation_id: UUID) -> None:
    """Items that wait for a worker wait no more; those that are being played are left alone."""
    await session.execute(
        update(EvaluationItem)
        .where(EvaluationItem.evaluation_id == evaluation_id, EvaluationItem.lease_token.is_(None))
        .values(due_at=None),
        execution_options={"synchronize_session": False},
    )


async def count_outcomes(
    session: AsyncSession, evaluation_ids: Sequence[UUID]
) -> Sequence[tuple[UUID, int, Outcome | None, int, int]]:
    """(evaluation, model number, outcome, episodes, solved) of each group that is not empty."""
    solved = func.count().filter(EvaluationItem.is_solved.is_(True))
    keys = (EvaluationItem.evaluation_id, EvaluationItem.model_number, EvaluationItem.outcome)
    query = (
        select(*keys, func.count(), solved)
        .where(EvaluationItem.evaluation_id.in_(evaluation_ids))
        .group_by(*keys)
    )
    return [(row[0], row[1], row[2], row[3], row[4]) for row in await session.execute(query)]


async def played_items(
    session: AsyncSession, evaluation_id: UUID
) -> Sequence[tuple[EvaluationItem, str | None]]:
    """Each with the slug of its episode, in order."""
    query = (
        select(EvaluationItem, Episode.slug)
        .outerjoin(Episode, Episode.id == EvaluationItem.episode_id)
        .where(EvaluationItem.evaluation_id == evaluation_id, EvaluationItem.outcome.is_not(None))
    )
    rows = await session.execute(query.order_by(EvaluationItem.number))
    return [(row[0], row[1]) for row in rows]


def _open(evaluation_id: UUID) -> tuple[ColumnElement[bool], ...]:
    return (
        EvaluationItem.evaluation_id == evaluation_id,
        EvaluationItem.outcome.is_(None),
        EvaluationItem.due_at.is_(None),
    )


def _loaded() -> Select[Evaluation]:
    return select(Evaluation).options(joinedload(Evaluation.project, innerjoin=True))
