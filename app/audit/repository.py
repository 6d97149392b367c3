"""Queries on the audit log. Rows are only added: there is no update and no delete here."""

from uuid import UUID

from sqlalchemy import ColumnElement, Select, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.audit.filters import Filter
from app.models import AuditEntry, Project

Row = tuple[AuditEntry, str | None]
"""An entry, and the slug of its project if it has one."""


async def list_before(
    session: AsyncSession, chosen: Filter, *, before: UUID | None, limit: int
) -> list[Row]:
    """Rows newest first, those before the entry `before`."""
    rows = await session.execute(query_of(chosen, before=before, limit=limit))
    return [(row[0], row[1]) for row in rows]


def query_of(chosen: Filter, *, before: UUID | None, limit: int) -> Select[AuditEntry, str]:
    """Ordered by id, which is the second column of each index, so that a page reads one stretch."""
    query = (
        select(AuditEntry, Project.slug)
        .outerjoin(Project, Project.id == AuditEntry.project_id)
        .where(*_conditions(chosen))
        .order_by(AuditEntry.id.desc())
        .limit(limit)
    )
    return query if before is None else query.where(AuditEntry.id < before)


def _conditions(chosen: Filter) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = []
    if chosen.actor:
        found.append(AuditEntry.actor == chosen.actor)
    if chosen.actor_key:
        found.append(AuditEntry.actor_key == chosen.actor_key)
    if chosen.action is not None:
        found.append(AuditEntry.action == chosen.action)
    if chosen.object_slug:
        found.append(AuditEntry.object_slug == chosen.object_slug)
    if chosen.outcome is not None:
        found.append(AuditEntry.outcome == chosen.outcome)
    if chosen.project_ids is not None:
        found.append(AuditEntry.project_id.in_(chosen.project_ids))
    return found + _in_time(chosen)


def _in_time(chosen: Filter) -> list[ColumnElement[bool]]:
    first, last = chosen.id_range
    found: list[ColumnElement[bool]] = []
    if chosen.since is not None:
        found += [AuditEntry.at >= chosen.since, AuditEntry.id >= first]
    if chosen.until is not None:
        found += [AuditEntry.at < chosen.until, AuditEntry.id < last]
    return found
