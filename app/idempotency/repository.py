"""Queries on idempotency keys."""

from datetime import datetime
from typing import Any, cast

from sqlalchemy import CursorResult, delete, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from app.models import IdempotencyKey


async def claim(
    session: AsyncSession, caller: str, key: str, *, digest: str, now: datetime
) -> bool:
    """Whether the key was free and is now ours; waits for another transaction that claims it."""
    row = IdempotencyKey(caller=caller, key=key, request_digest=digest, answer={}, created_at=now)
    try:
        async with session.begin_nested():
            session.add(row)
    except IntegrityError:
        return False
    return True


async def get(session: AsyncSession, caller: str, key: str) -> IdempotencyKey:
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


async def delete_before(session: AsyncSession, limit: datetime) -> int:
    """Deletes keys that were claimed before `limit`; returns how many went."""
    query = delete(IdempotencyKey).where(IdempotencyKey.created_at < limit)
    result: Any = await session.execute(query.execution_options(synchronize_session=False))
    return cast("CursorResult[Any]", result).rowcount
