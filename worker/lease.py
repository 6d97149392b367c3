"""A worker's timed claim on a row: the only code that writes `lease_token` and `lease_until`.

Claims are conditional updates, so that of two workers which want the same row at most one gets
it, on SQLite and on PostgreSQL alike. A worker that was too slow loses its claim to another; its
late result then fails at `guard`, inside the transaction that would have stored it.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Protocol, cast
from uuid import UUID

from sqlalchemy import (
    CursorResult,
    Result,
    Select,
    Table,
    Update,
    bindparam,
    or_,
    select,
    update,
)

from app.clock import utcnow
from app.db import Database, WriteSession
from app.models import (
    CheckpointWatch,
    Cluster,
    ClusterCheck,
    Endpoint,
    EvaluationItem,
    LogStream,
    Promotion,
    Run,
)

Leased = (
    type[Cluster]
    | type[ClusterCheck]
    | type[Run]
    | type[LogStream]
    | type[CheckpointWatch]
    | type[Promotion]
    | type[Endpoint]
    | type[EvaluationItem]
)
Clock = Callable[[], datetime]

# A heartbeat may be late by two of its own periods before the claim runs out.
_BEATS_PER_LEASE = 3
_UNSYNCHRONIZED = {"synchronize_session": False}


class Stale(Exception):
    """The claim is no longer ours: what was observed under it must be dropped."""


class Sleep(Protocol):
    async def __call__(self, delay: float, /) -> None: ...


@dataclass(frozen=True, slots=True)
class Lease:
    """A claim on the row `id` of `model`, proven by `token`."""

    model: Leased
    id: UUID
    token: str


async def claim(
    database: Database, model: Leased, *, now: datetime, seconds: float, limit: int
) -> list[Lease]:
    """Claims up to `limit` due rows for `seconds`, those first that are due longest.

    A row that another worker took in between is left out.
    """
    async with database.read() as session:
        ids = list(await session.scalars(_due(model, now).limit(limit)))
    if not ids:
        return []
    leases = [Lease(model, id_, secrets.token_hex(16)) for id_ in ids]
    async with database.write() as session:
        return [lease for lease in leases if await _take(session, lease, now, seconds)]


async def claim_next(
    session: WriteSession, model: Leased, *, now: datetime, seconds: float
) -> Lease | None:
    """Claims the row that is due longest, as a part of a transaction; None if none is due.

    Rows that another transaction holds are passed by: two that wait for each other's would hang.
    """
    longest = _due(model, now).limit(1).with_for_update(skip_locked=True).correlate(None)
    token = secrets.token_hex(16)
    change = (
        update(model)
        .where(model.id == longest.scalar_subquery())
        .values(lease_token=token, lease_until=now + timedelta(seconds=seconds))
        .returning(model.id)
    )
    found = await session.scalar(change, execution_options=_UNSYNCHRONIZED)
    return None if found is None else Lease(model, found, token)


async def renew(database: Database, lease: Lease, *, now: datetime, seconds: float) -> bool:
    """Holds the claim for `seconds` more; False if it is no longer ours."""
    until = now + timedelta(seconds=seconds)
    async with database.write() as session:
        return await _change(session, lease, lease_until=until)


async def guard(session: WriteSession, lease: Lease) -> None:
    """Makes sure, until the transaction ends, that the claim is ours.

    First statement of each transaction that stores what was observed. Raises `Stale`.
    """
    if not await _change(session, lease, lease_token=lease.token):
        raise Stale(f"{lease.model.__tablename__} {lease.id}")


async def release(session: WriteSession, lease: Lease, *, due_at: datetime | None) -> bool:
    """Gives the row back, to be looked at again at `due_at` (None: never). False if lost."""
    return await _change(session, lease, lease_token=None, lease_until=None, due_at=due_at)


@asynccontextmanager
async def heartbeat(
    database: Database,
    lease: Lease,
    *,
    seconds: float,
    clock: Clock = utcnow,
    sleep: Sleep = asyncio.sleep,
) -> AsyncIterator[None]:
    """Renews the claim while the block runs, which must hold no write transaction.

    A lost claim, or a database that does not answer, ends the renewing only: `guard` decides.
    """

    async def beat() -> None:
        held = True
        while held:
            await sleep(seconds / _BEATS_PER_LEASE)
            held = await renew(database, lease, now=clock(), seconds=seconds)

    task = asyncio.create_task(beat())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def _due(model: Leased, now: datetime) -> Select[UUID]:
    free = or_(model.lease_until.is_(None), model.lease_until <= now)
    return select(model.id).where(model.due_at <= now, free).order_by(model.due_at, model.id)


async def _take(session: WriteSession, lease: Lease, now: datetime, seconds: float) -> bool:
    # Both conditions again: another worker may have taken, or done with, the row since the look.
    model = lease.model
    free = or_(model.lease_until.is_(None), model.lease_until <= now)
    change = (
        update(model)
        .where(model.id == lease.id, model.due_at <= now, free)
        .values(lease_token=lease.token, lease_until=now + timedelta(seconds=seconds))
    )
    return _is_one(await session.execute(change, execution_options=_UNSYNCHRONIZED))


@cache
def _held(model: Leased) -> Update:
    """Of the row that is held; made once, since making it costs as much as sending it.

    Of the table itself: nothing that a session holds is to be changed with it.
    """
    table = cast(Table, model.__table__)
    is_ours = table.c.lease_token == bindparam("held_by")
    return update(table).where(table.c.id == bindparam("held_id"), is_ours)


async def _change(session: WriteSession, lease: Lease, **values: object) -> bool:
    """Sets these columns of the row that is held; False if the claim is no longer ours."""
    given = values | {"held_id": lease.id, "held_by": lease.token}
    return _is_one(await session.execute(_held(lease.model), given))


def _is_one(found: Result[Any]) -> bool:
    return cast(CursorResult[Any], found).rowcount == 1
