"""Many more runs out of some: each is copied with all that belongs to it, in the database itself.

Runs that differ enough to sort and to filter by, a hundred thousand in a minute; making each by the
services would take an hour.
"""

import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

_COUNTING = ("INTEGER", "BIGINT")
_OF_A_RUN = ("config_value", "metric_series", "event", "run_tag")


def multiply(home: Path, runs: int) -> int:
    """Copies the runs of a store until there are at least `runs`; returns how many there are."""
    connection = sqlite3.connect(home / "skydeck.db", isolation_level=None)
    try:
        connection.create_function("copied", 2, _copied, deterministic=True)
        connection.execute("PRAGMA synchronous = OFF")
        first: int = connection.execute("SELECT count(*) FROM run").fetchone()[0]
        times = -(-runs // first) - 1
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("CREATE TEMP TABLE original AS SELECT id, config_id FROM run")
        for number in range(1, times + 1):
            _copy_once(connection, number)
        connection.execute("COMMIT")
        connection.execute("ANALYZE")
        return first * (times + 1)
    finally:
        connection.close()


def _copied(value: Any, number: int) -> Any:
    """An id or a slug of its own, the same whenever the same is asked for."""
    if isinstance(value, bytes):
        return value[:-4] + (int.from_bytes(value[-4:]) ^ number).to_bytes(4)
    if len(value) == len(UUID(int=0).hex):
        return value[:-8] + format(int(value[-8:], 16) ^ number, "08x")
    return f"{value}{number:05d}"


def _copy_once(connection: sqlite3.Connection, number: int) -> None:
    ids = {"id": _id, "slug": _id, "config_id": _id}
    _insert(connection, "config", ids, number, "id IN (SELECT config_id FROM original)")
    _insert(connection, "run", ids, number, "id IN (SELECT id FROM original)")
    changed = {"run_id": _id, "last": _moved, "best": _moved, "min": _moved, "max": _moved}
    for table in _OF_A_RUN:
        own = {"id": _id} if table == "event" else {}
        _insert(connection, table, changed | own, number, "run_id IN (SELECT id FROM original)")
    slugs = "object_slug IN (SELECT slug FROM run WHERE id IN (SELECT id FROM original))"
    _insert(connection, "audit_entry", {"id": _id, "object_slug": _id}, number, slugs)


def _insert(
    connection: sqlite3.Connection,
    table: str,
    changed: Mapping[str, Callable[[str, int], str]],
    number: int,
    which: str,
) -> None:
    about = connection.execute(f"PRAGMA table_info({table})").fetchall()
    # A key that counts is given anew.
    names = [f'"{row[1]}"' for row in about if not (row[1] == "id" and row[2] in _COUNTING)]
    values = [
        changed[name.strip('"')](name, number) if name.strip('"') in changed else name
        for name in names
    ]
    connection.execute(
        f"INSERT INTO {table} ({', '.join(names)}) "
        f"SELECT {', '.join(values)} FROM {table} WHERE {which}"
    )


def _id(name: str, number: int) -> str:
    return f"copied({name}, {number})"


def _moved(name: str, number: int) -> str:
    return f"{name} + {number * 1e-6}"
