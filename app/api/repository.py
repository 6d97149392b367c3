"""Queries on idempotency keys."""

from typing import Any

from sqlalchemy import select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from app.clock import utcnow
from app.models import IdempotencyKey


async def claim_key(session: AsyncSession, caller: str, key: str, digest: str) -> bool:
    """Whether the key was free and is now ours; waits for another transaction that claims it."""
    row = IdempotencyKey(
        caller=caller, key=key, request_digest=digest, answer={}, created_at=utcnow()
    )
    try:
        async with session.begin_nested():
            session.add(row)
    except IntegrityError:
        return False
    return True


async def get_key(session: AsyncSession, caller: str, key: str) -> IdempotencyKey:
    query = select(IdempotencyKey).where(IdempotencyKey.caller == caller, IdempotencyKey.key == key)
    return (await session.scalars(query)).one()


async def store_answer(
    session: AsyncSession, caller: str, key: str, answer: dict[str, Any]
) -> None:
    await session.execute(
        update(IdempotencyKey)
        .where(IdempotencyKey.caller == caller, IdempotencyKey.key == key)
        .values(answer=answer)
    )
