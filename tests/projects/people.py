"""Users as rows: no password, no audit."""

from app.clock import utcnow
from app.db import WriteSession
from app.models import User


async def add_person(session: WriteSession, name: str, *, is_disabled: bool = False) -> User:
    now = utcnow()
    person = User(name=name, created_at=now, disabled_at=now if is_disabled else None)
    session.add(person)
    await session.flush()
    return person
