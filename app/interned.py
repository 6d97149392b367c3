"""Names that rows refer to by number: metric keys and config keys, each kept once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sqlalchemy import Table, event, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncSession

from app.db import KEPT, WriteSession
from app.models import ConfigKey, MetricKey

# SQLite takes 32,766 parameters in a statement; stay well below.
BATCH = 5_000
_MOST_KNOWN = 50_000
T = TypeVar("T")


async def numbers_of(
    session: AsyncSession, model: type[MetricKey | ConfigKey], names: Sequence[str]
) -> dict[str, int]:
    """The number of each name; new names are added, in the caller's transaction."""
    found = await find_numbers(session, model, names)
    # In order, so that two writers do not wait for each other.
    missing = sorted(set(names) - found.keys())
    if missing:
        make = postgresql.insert if is_postgres(session) else sqlite.insert
        rows = [{"name": name} for name in missing]
        await execute_many(session, make(table_of(model)).on_conflict_do_nothing(), rows)
        found |= await find_numbers(session, model, missing)
    return found


async def find_numbers(
    session: AsyncSession, model: type[MetricKey | ConfigKey], names: Sequence[str]
) -> dict[str, int]:
    """The numbers of those names that are known. No row is ever changed or deleted."""
    known = _known(session, model)
    found = {name: known[name] for name in names if name in known}
    read: dict[str, int] = {}
    for some in batches([name for name in names if name not in found]):
        rows = await session.execute(select(model.name, model.id).where(model.name.in_(some)))
        read |= {row[0]: row[1] for row in rows}
    if not read:
        return found
    if isinstance(session, WriteSession):
        # Not before: some may be of this very transaction, which may come to nothing.
        event.listen(session.sync_session, "after_commit", lambda _: _keep(known, read), once=True)
    else:
        _keep(known, read)
    return found | read


async def execute_many(
    session: AsyncSession, statement: Any, rows: Sequence[dict[str, Any]]
) -> None:
    """Many rows by one statement, past the session's objects."""
    if rows:
        connection = await session.connection()
        await connection.execute(statement, rows)


@dataclass(frozen=True, slots=True)
class PlainStatement:
    """A statement for rows of plain numbers and bytes, which go to the driver as they are.

    `names` are the columns of its rows. Several times as fast where there are thousands.
    """

    statement: Any
    names: tuple[str, ...]
    _compiled: dict[str, tuple[str, list[int]]] = field(default_factory=dict)

    async def execute(self, session: AsyncSession, rows: Sequence[tuple[Any, ...]]) -> None:
        if not rows:
            return
        connection = await session.connection()
        dialect = connection.dialect
        if dialect.name not in self._compiled:
            compiled = self.statement.compile(dialect=dialect, column_keys=list(self.names))
            places = [self.names.index(name) for name in compiled.positiontup]
            self._compiled[dialect.name] = str(compiled), places
        sql, places = self._compiled[dialect.name]
        if places != list(range(len(self.names))):
            rows = [tuple(row[place] for place in places) for row in rows]
        await connection.exec_driver_sql(sql, list(rows))


def _known(session: AsyncSession, model: type[MetricKey | ConfigKey]) -> dict[str, int]:
    """Numbers that this process has read of this database."""
    kept: dict[str, dict[str, int]] = session.info.get(KEPT, {})
    return kept.setdefault(model.__tablename__, {})


def _keep(known: dict[str, int], read: dict[str, int]) -> None:
    if len(known) + len(read) > _MOST_KNOWN:
        known.clear()
    known.update(read)


def table_of(model: type) -> Table:
    table: Table = model.__table__  # type: ignore[attr-defined]
    return table


def is_postgres(session: AsyncSession) -> bool:
    return session.get_bind().dialect.name == "postgresql"


def batches(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """Pieces that a statement takes as its parameters."""
    for start in range(0, len(items), BATCH):
        yield items[start : start + BATCH]
