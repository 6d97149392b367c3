"""How many wrong passwords are taken: counted in the database, so for all web processes at once.

An attempt is counted before its password is looked at and taken back if that was right: guesses
that come at the same moment cannot slip by together. What is refused here costs no hash, writes
nothing, and is remembered for some seconds. The name counts whether or not there is such a user,
so nothing is told.

Guesses of others do not shut the owner out: where somebody was signed in lately, only the limit of
the address counts for their name.
"""

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from weakref import WeakKeyDictionary

from sqlalchemy.ext.asyncio import AsyncSession

from app.access.addresses import network_of
from app.db import Database
from app.errors import TooMany
from app.models import SignInFailure
from app.users import repository
from app.users.hashes import hashed

WINDOW = timedelta(minutes=15)
NAME_LIMIT = 10
ADDRESS_LIMIT = 50
_REMEMBERED_FOR = timedelta(seconds=10)
_REMEMBERED_MOST = 10_000


@dataclass(frozen=True, slots=True)
class Attempt:
    """Whose password is tried and from where; addresses of IPv6 count by their network."""

    name: str
    name_hash: str
    address: str

    @classmethod
    def of(cls, name: str, address: str) -> "Attempt":
        return cls(name, hashed(name), network_of(address))

    @property
    def keys(self) -> tuple[str, str]:
        """What refusals are remembered by: the name's do not hold everywhere, see `_is_owners`."""
        return f"{self.name_hash} {self.address}", self.address


@dataclass(frozen=True, slots=True)
class _Refusal:
    until: datetime
    forget_at: datetime


# By database, since a process may serve several, as tests do.
_memories: WeakKeyDictionary[Database, dict[str, _Refusal]] = WeakKeyDictionary()


def refuse_if_remembered(database: Database, attempt: Attempt, now: datetime) -> None:
    """Raises `TooMany` for what this process refused seconds ago: a flood costs no query."""
    memory = _memories.get(database, {})
    for key in attempt.keys:
        known = memory.get(key)
        if known is not None and now < known.forget_at:
            _refuse(known.until, now)


async def refuse_if_many(
    database: Database, session: AsyncSession, attempt: Attempt, now: datetime, *, counted: int = 0
) -> None:
    """Raises `TooMany` once a limit is reached; `counted` of the rows are this attempt's own."""
    after = now - WINDOW
    at = await repository.nth_failure_of_name(
        session, attempt.name_hash, NAME_LIMIT + counted, after=after
    )
    if at is not None and await _is_owners(session, attempt, now):
        at = None
    key, address_key = attempt.keys
    # Some servers do not tell the address, which then says nothing.
    if at is None and attempt.address:
        at = await repository.nth_failure_of_address(
            session, attempt.address, ADDRESS_LIMIT + counted, after=after
        )
        key = address_key
    if at is not None:
        _remember(database, key, at + WINDOW, now)
        _refuse(at + WINDOW, now)


async def count(database: Database, attempt: Attempt, now: datetime) -> SignInFailure:
    """Counts an attempt as a wrong password. Raises `TooMany`, and then it is not counted."""
    row = SignInFailure(name_hash=attempt.name_hash, address=attempt.address, at=now)
    # Committed before it is counted: on PostgreSQL nobody sees the others' rows until then.
    async with database.write() as session:
        session.add(row)
    try:
        async with database.read() as session:
            await refuse_if_many(database, session, attempt, now, counted=1)
    except TooMany:
        await take_back(database, row)
        raise
    return row


async def take_back(database: Database, row: SignInFailure) -> None:
    """Forgets an attempt that was no wrong password."""
    async with database.write() as session:
        await repository.delete_failure(session, row)


async def _is_owners(session: AsyncSession, attempt: Attempt, now: datetime) -> bool:
    """Whether the user of that name was signed in from there lately."""
    after = now - repository.SESSIONS_KEPT
    seen = await repository.addresses_of(session, attempt.name, after=after)
    return bool(attempt.address) and attempt.address in {network_of(each) for each in seen}


def _remember(database: Database, key: str, until: datetime, now: datetime) -> None:
    memory = _memories.setdefault(database, {})
    if len(memory) >= _REMEMBERED_MOST:
        memory.clear()
    # Not for the whole window: rows of attempts that turn out right are taken back.
    memory[key] = _Refusal(until, min(until, now + _REMEMBERED_FOR))


def _refuse(until: datetime, now: datetime) -> None:
    seconds = max(1, math.ceil((until - now).total_seconds()))
    raise TooMany(
        "there were too many wrong passwords: for now none is looked at, not even a right one. "
        f"Try again in {_minutes(seconds)}, or use a sign-in link",
        retry_after_seconds=seconds,
    )


def _minutes(seconds: int) -> str:
    minutes = math.ceil(seconds / 60)
    return f"{minutes} minute{'s' if minutes > 1 else ''}"
