"""A database whose every free text is hostile, whatever tables and columns there are by now."""

from collections.abc import Iterator
from typing import Any

from sqlalchemy import JSON, Column, Enum, String, Table, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from app.models import Base

PAYLOADS = (
    "<script>window.hit=1</script>",
    '"><img src=x onerror=window.hit=2>',
    "'-window.hit=3-'",
    "</script><script>window.hit=4</script>",
    "<svg/onload=window.hit=5>",
    "javascript:window.hit=6",
    "{{ 7 * 7 }}<b onclick=window.hit=7>",
    "[x](javascript:window.hit=8)\u2028<iframe srcdoc='<script>parent.hit=9</script>'>",
)
# Not free text: identifiers and names of things that code looks up.
_KEPT_NAMES = {"slug", "recipe", "scope", "submission_id", "base_model", "session_name", "env_id"}
_KEPT_NAMES |= {"dialect"}
_KEPT_ENDINGS = ("_hash", "_token", "_id", "_digest", "digest", "_key", "ciphertext")
# The statuses of requests under an idempotency key are no text of people; nor is Ray's address.
_KEPT_TABLES = {"idempotency_key", "worker", "alembic_version"}
_KEPT_COLUMNS = {"metric_key.name", "config_key.name", "cluster.address"}
# Parts of JSON that code looks up.
_KEPT_PARTS = {"kind", "class", "since"}


async def poison(session: AsyncSession) -> int:
    """Writes a payload into every free text of every row; returns how many columns that were."""
    count = 0
    for table in Base.metadata.sorted_tables:
        # Rows of the audit log do not change: they are hostile from their making.
        if table.name in _KEPT_TABLES or table.name == "audit_entry":
            continue
        columns = [column for column in table.columns if _is_free_text(table, column)]
        documents = [column for column in table.columns if isinstance(column.type, JSON)]
        count += len(columns) + len(documents)
        await _poison_table(session, table, columns, documents)
    return count


async def _poison_table(
    session: AsyncSession,
    table: Table,
    columns: list[Column[Any]],
    documents: list[Column[Any]],
) -> None:
    keys = list(table.primary_key.columns)
    rows = (await session.execute(select(*keys, *documents))).all()
    for number, row in enumerate(rows):
        values: dict[str, Any] = {
            column.name: _payload(column, number + place) for place, column in enumerate(columns)
        }
        for place, document in enumerate(documents):
            values[document.name] = _poisoned(row[len(keys) + place], number)
        if values:
            here = [key == row[place] for place, key in enumerate(keys)]
            await session.execute(update(table).where(*here).values(values))


def _is_free_text(table: Table, column: Column[Any]) -> bool:
    is_text = isinstance(column.type, String) and not isinstance(column.type, Enum)
    is_kept = column.name in _KEPT_NAMES or column.name.endswith(_KEPT_ENDINGS)
    return (
        is_text
        and not is_kept
        and not column.primary_key
        and f"{table.name}.{column.name}" not in _KEPT_COLUMNS
    )


def _payload(column: Column[Any], number: int) -> str:
    text = PAYLOADS[number % len(PAYLOADS)]
    length = getattr(column.type, "length", None) or 1_000
    # Names are unique in some tables.
    return f"{text} {number}"[-length:]


def _poisoned(value: Any, number: int) -> Any:
    if isinstance(value, str):
        return PAYLOADS[number % len(PAYLOADS)]
    if isinstance(value, list):
        return [_poisoned(each, number + place) for place, each in enumerate(value)]
    if isinstance(value, dict):
        return dict(_poisoned_items(value, number))
    return value


def _poisoned_items(value: dict[str, Any], number: int) -> Iterator[tuple[str, Any]]:
    for place, (key, each) in enumerate(value.items()):
        yield key, each if key in _KEPT_PARTS else _poisoned(each, number + place)
