"""Deletes what lets nobody in any more."""

from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncSession

from app.clock import utcnow
from app.users import repository
from app.users.service.throttle import WINDOW


async def forget_old(session: AsyncSession, now: datetime | None = None) -> int:
    """Deletes ended sessions, used or late links, and wrong passwords that no longer count.

    Returns how many rows went.
    """
    at = now or utcnow()
    return await repository.delete_ended(session, at, failures_before=at - WINDOW)
