"""Keys of creation calls: claimed once, answered again, forgotten after a day."""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from app.clock import utcnow
from app.idempotency import repository
from app.models import IdempotencyKey

KEY_LIFE = timedelta(hours=24)


async def claim(
    session: AsyncSession, caller: str, key: str, digest: str, now: datetime | None = None
) -> bool:
    """Whether the key was free and is now ours; waits for another transaction that claims it."""
    return await repository.claim(session, caller, key, digest=digest, now=now or utcnow())


async def get(session: AsyncSession, caller: str, key: str) -> IdempotencyKey:
    """A key that was claimed."""
    return await repository.get(session, caller, key)


async def store_answer(
    session: AsyncSession, caller: str, key: str, answer: dict[str, Any]
) -> None:
    """Keeps what was answered, for the next call with this key."""
    await repository.store_answer(session, caller, key, answer)


async def forget_old(session: AsyncSession, now: datetime | None = None) -> int:
    """Deletes keys older than `KEY_LIFE`; returns how many went."""
    return await repository.delete_before(session, (now or utcnow()) - KEY_LIFE)
