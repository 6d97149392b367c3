"""Queries on the params and tags that MLflow clients set, and on runs as those see them."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from sqlalchemy import delete, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncSession

from app.interned import execute_many, is_postgres, table_of
from app.models import Run, TrackingEntry

PARAM, TAG = "param", "tag"


async def entries_of(
    session: AsyncSession, run_ids: Sequence[UUID]
) -> dict[UUID, dict[str, dict[str, str]]]:
    """Values by run, kind and key, in one query."""
    table = TrackingEntry
    query = select(table.run_id, table.kind, table.key, table.value)
    query = query.where(table.run_id.in_(run_ids)).order_by(table.key)
    found: dict[UUID, dict[str, dict[str, str]]] = {
        run_id: {PARAM: {}, TAG: {}} for run_id in run_ids
    }
    for run_id, kind, key, value in await session.execute(query):
        found[run_id][kind][key] = value
    return found


async def set_entries(
    session: AsyncSession, run_id: UUID, kind: str, values: Mapping[str, str]
) -> None:
    """The last value of a key counts."""
    make = postgresql.insert if is_postgres(session) else sqlite.insert
    statement = make(table_of(TrackingEntry))
    statement = statement.on_conflict_do_update(
        index_elements=["run_id", "kind", "key"], set_={"value": statement.excluded.value}
    )
    rows = [
        {"run_id": run_id, "kind": kind, "key": key, "value": value}
        for key, value in sorted(values.items())
    ]
    await execute_many(session, statement, rows)


async def delete_tag(session: AsyncSession, run_id: UUID, key: str) -> None:
    table = TrackingEntry
    where = (table.run_id == run_id, table.kind == TAG, table.key == key)
    await session.execute(delete(table).where(*where))


async def find_run_slug(session: AsyncSession, run_id: UUID) -> str | None:
    return await session.scalar(select(Run.slug).where(Run.id == run_id))
