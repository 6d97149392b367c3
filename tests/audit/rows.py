"""Rows of the audit log for tests, at times of their own."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from app.audit.actions import Action
from app.db import Database, WriteSession
from app.ids import new_id
from app.models import AuditEntry, AuditOutcome, Project

NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)


def add_entry(session: WriteSession, *, minute: int = 0, **given: Any) -> AuditEntry:
    """An entry `minute` minutes after `NOON`; its id is made at that time, as in real life."""
    at = NOON + timedelta(minutes=minute)
    entry = AuditEntry(
        **{
            "id": id_at(at),
            "at": at,
            "actor": "ada",
            "actor_key": "user:1",
            "address": "192.0.2.7",
            "request_id": "req-1",
            "action": Action.RUN_STOP,
            "outcome": AuditOutcome.DONE,
            "object_kind": "run",
            "object_slug": "run-1",
            "details": {},
        }
        | given
    )
    session.add(entry)
    return entry


async def add_project(database: Database, slug: str) -> UUID:
    async with database.write() as session:
        project = Project(slug=slug, name=slug.title(), created_at=NOON)
        session.add(project)
        await session.flush()
        return project.id


def id_at(at: datetime) -> UUID:
    """A UUIDv7 of that time."""
    return UUID(int=int(at.timestamp() * 1000) << 80 | (new_id().int & (2**80 - 1)))
