"""The audit log: who changed what, from where. Written in the transaction of the change itself.

Rows are kept for ever. docs/audit.md lists what is written.
"""

import hashlib
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app.access.principal import Actor
from app.audit import repository
from app.audit.actions import Action
from app.audit.filters import Filter
from app.audit.repository import Row
from app.clock import utcnow
from app.db import Database
from app.models import AuditEntry, AuditOutcome
from app.observability.masking import masked, masked_inside
from app.paging import Page, decode_id_cursor, page_of

__all__ = [
    "Filter",
    "Row",
    "Target",
    "digest",
    "iter_batches",
    "list_page",
    "record",
    "record_daily",
]

_NAME_LENGTH = 200
# Small, since the event loop does nothing else while one is turned into text.
_BATCH = 250
# Rows of today that this process has met, in the order of their meeting.
_seen: dict[object, None] = {}
_MOST_SEEN = 10_000


@dataclass(frozen=True, slots=True)
class Target:
    """What was changed: its kind (`run`, `project`, …), its slug or name, and its project."""

    kind: str
    slug: str
    project_id: UUID | None = None


def record(
    session: AsyncSession,
    actor: Actor,
    action: Action,
    target: Target,
    *,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
    outcome: AuditOutcome = AuditOutcome.DONE,
    details: Mapping[str, Any] | None = None,
) -> None:
    """Adds one row to the session, so that the change and its row are stored together or not.

    `before` and `after` are the object's plain fields, without secrets: their digests are stored,
    and the names of the fields that differ.
    """
    session.add(
        AuditEntry(
            at=utcnow(),
            actor=actor.name[:_NAME_LENGTH],
            actor_key=actor.key,
            address=actor.address,
            request_id=actor.request_id,
            action=action.value,
            outcome=outcome,
            object_kind=target.kind,
            object_slug=masked(target.slug)[:_NAME_LENGTH],
            project_id=target.project_id,
            before_digest=digest(before),
            after_digest=digest(after),
            details=masked_inside({**_changed(before, after), **(details or {})}),
        )
    )


async def record_daily(session: AsyncSession, actor: Actor, action: Action, target: Target) -> None:
    """As `record`, once per actor, object and day (UTC), for what is done again and again.

    Two that come at the same moment may both leave a row.
    """
    midnight = datetime.combine(utcnow().date(), time.min, UTC)
    today = Filter(actor_key=actor.key, action=action, object_slug=target.slug, since=midnight)
    asked = (session.get_bind().engine, today)
    if asked in _seen:
        return
    if await repository.list_before(session, today, before=None, limit=1):
        # Stored for good: only a row of a transaction before this one is remembered.
        _seen[asked] = None
        if len(_seen) > _MOST_SEEN:
            del _seen[next(iter(_seen))]
    else:
        record(session, actor, action, target)


async def list_page(
    session: AsyncSession, chosen: Filter, *, limit: int = 50, cursor: str | None = None
) -> Page[Row]:
    """Newest first. Raises `Invalid` for a cursor of another list."""
    before = decode_id_cursor(cursor) if cursor else None
    rows = await repository.list_before(session, chosen, before=before, limit=limit + 1)
    return page_of(rows, limit, lambda row: [str(row[0].id)])


async def iter_batches(database: Database, chosen: Filter) -> AsyncIterator[Sequence[Row]]:
    """All rows that fit, newest first, in batches, each read in a session of its own.

    So an export of any length holds little memory and no transaction while it is sent.
    """
    before: UUID | None = None
    while True:
        async with database.read() as session:
            rows = await repository.list_before(session, chosen, before=before, limit=_BATCH)
        if rows:
            yield rows
        if len(rows) < _BATCH:
            return
        before = rows[-1][0].id


def digest(fields: Mapping[str, Any] | None) -> str | None:
    """SHA-256 of the fields as JSON with sorted keys; None for None."""
    if fields is None:
        return None
    text = json.dumps(fields, sort_keys=True, default=str, separators=(",", ":"))
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()


def _changed(
    before: Mapping[str, Any] | None, after: Mapping[str, Any] | None
) -> dict[str, list[str]]:
    if before is None or after is None:
        return {}
    keys = sorted(before.keys() | after.keys())
    return {"changed": [key for key in keys if before.get(key) != after.get(key)]}
