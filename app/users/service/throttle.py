"""How many wrong passwords are taken: counted in the database, so for all web processes at once.

An attempt is counted before its password is looked at and taken back if that was right: guesses
that come at the same moment cannot slip by together. What is refused here costs no hash and
writes nothing. The name counts whether or not there is such a user, so nothing is told.
"""

import ipaddress
import math
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from app.db import Database
from app.errors import TooMany
from app.models import SignInFailure
from app.users import repository
from app.users.hashes import hashed

WINDOW = timedelta(minutes=15)
NAME_LIMIT = 10
ADDRESS_LIMIT = 50
_IPV6_BITS = 64


@dataclass(frozen=True, slots=True)
class Attempt:
    """Whose password is tried and from where; addresses of IPv6 count by their network."""

    name_hash: str
    address: str

    @classmethod
    def of(cls, name: str, address: str) -> "Attempt":
        return cls(hashed(name), _network(address))


async def refuse_if_many(
    session: AsyncSession, attempt: Attempt, now: datetime, *, counted: int = 0
) -> None:
    """Raises `TooMany` once a limit is reached; `counted` of the rows are this attempt's own."""
    times = await repository.failures_at_limits(
        session,
        attempt.name_hash,
        attempt.address,
        after=now - WINDOW,
        limits=(NAME_LIMIT + counted, ADDRESS_LIMIT + counted),
    )
    if not times:
        return
    seconds = max(1, math.ceil((max(times) + WINDOW - now).total_seconds()))
    raise TooMany(
        "there were too many wrong passwords: for now none is looked at, not even a right one. "
        f"Try again in {_minutes(seconds)}, or use a sign-in link",
        retry_after_seconds=seconds,
    )


async def count(database: Database, attempt: Attempt, now: datetime) -> SignInFailure:
    """Counts an attempt as a wrong password. Raises `TooMany`, and then it is not counted."""
    row = SignInFailure(name_hash=attempt.name_hash, address=attempt.address, at=now)
    # Committed before it is counted: on PostgreSQL nobody sees the others' rows until then.
    async with database.write() as session:
        session.add(row)
    try:
        async with database.read() as session:
            await refuse_if_many(session, attempt, now, counted=1)
    except TooMany:
        await take_back(database, row)
        raise
    return row


async def take_back(database: Database, row: SignInFailure) -> None:
    """Forgets an attempt that was no wrong password."""
    async with database.write() as session:
        await repository.delete_failure(session, row)


def _network(address: str) -> str:
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if parsed.version == 4:
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((int(parsed), _IPV6_BITS), strict=False))


def _minutes(seconds: int) -> str:
    minutes = math.ceil(seconds / 60)
    return f"{minutes} minute{'s' if minutes > 1 else ''}"
