"""An upgrade keeps what is there: a database of the first version, with a row in each table."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import asyncpg
import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import (
    JSON,
    Boolean,
    Connection,
    DateTime,
    LargeBinary,
    MetaData,
    Numeric,
    String,
    Table,
    Uuid,
    func,
    insert,
    select,
    text,
)

from app import schema
from app.db import make_engine, writer
from app.errors import StartError
from app.models import Base
from tests.conftest import DATABASES

FIRST = "0001"
# Tables whose old rows have no value for what was added; people sign in again.
EMPTIED = {"user_session", "sign_in_link"}
CHOICES = {
    "cluster": {"kind": "embedded", "status": "ready"},
    "run": {"origin": "submitted", "status": "succeeded", "desired_status": "run"},
    "attempt": {"status": "succeeded"},
}


@pytest.fixture(params=DATABASES)
def blank_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """URL of a database without any table."""
    if request.param == "sqlite":
        yield f"sqlite+aiosqlite:///{tmp_path / 'old.db'}"
        return
    server: str = request.getfixturevalue("postgres_server")
    asyncio.run(_on(server, "CREATE DATABASE old"))
    yield f"{server.rpartition('/')[0]}/old"
    asyncio.run(_on(server, "DROP DATABASE old WITH (FORCE)"))


async def test_an_upgrade_keeps_the_rows_of_the_first_version(blank_url: str) -> None:
    engine = make_engine(blank_url)
    try:
        async with writer(engine).begin() as connection:
            await connection.run_sync(_first_version)
            filled = await connection.run_sync(_fill)
        await schema.migrate(blank_url)
        async with engine.connect() as connection:
            counts = await connection.run_sync(_counts, filled)
            streams = Base.metadata.tables["log_stream"]
            place = select(streams.c.read_bytes == streams.c.n_bytes)
            assert (await connection.execute(place)).scalar_one()
    finally:
        await engine.dispose()
    assert counts == {table: int(table not in EMPTIED) for table in filled}


async def test_the_texts_of_configs_come_and_go_and_their_rows_stay(blank_url: str) -> None:
    engine = make_engine(blank_url)
    try:
        async with writer(engine).begin() as connection:
            await connection.run_sync(_first_version)
            await connection.run_sync(_fill)
            await connection.run_sync(_to, "0005")
            await connection.execute(text("UPDATE config SET yaml = '# why' WHERE yaml IS NULL"))
            await connection.run_sync(lambda given: command.downgrade(_alembic(given), "0004"))
            assert await connection.scalar(text("SELECT count(*) FROM config")) == 1
            await connection.run_sync(_to, "0005")
            assert await connection.scalar(text("SELECT yaml FROM config")) is None
    finally:
        await engine.dispose()


async def test_an_upgrade_of_rows_that_refer_to_nothing_is_undone(tmp_path: Path) -> None:
    url = f"sqlite+aiosqlite:///{tmp_path / 'broken.db'}"
    engine = make_engine(url, has_foreign_keys=False)
    try:
        async with writer(engine).begin() as connection:
            await connection.run_sync(_first_version)
            await connection.run_sync(_fill)
            await connection.execute(text("DELETE FROM project"))
        with pytest.raises(StartError, match="upgrade was undone: a row of table"):
            await schema.migrate(url)
        async with engine.connect() as connection:
            found = await connection.scalar(text("SELECT version_num FROM alembic_version"))
            assert found == FIRST
    finally:
        await engine.dispose()


def _first_version(connection: Connection) -> None:
    _to(connection, FIRST)


def _to(connection: Connection, revision: str) -> None:
    command.upgrade(_alembic(connection), revision)


def _alembic(connection: Connection) -> Config:
    config = schema.alembic_config()
    config.attributes["connection"] = connection
    return config


def _fill(connection: Connection) -> list[str]:
    """One row in each table, each pointing to those of the tables that it refers to."""
    tables = MetaData()
    tables.reflect(connection)
    rows: dict[str, dict[str, Any]] = {}
    for table in tables.sorted_tables:
        if table.name != "alembic_version":
            rows[table.name] = _row(table, rows)
            connection.execute(insert(table).values(rows[table.name]))
    return list(rows)


def _row(table: Table, others: dict[str, dict[str, Any]]) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for column in table.columns:
        points_to = [key.column for key in column.foreign_keys]
        if points_to:
            row[column.name] = others[points_to[0].table.name][points_to[0].name]
        elif column.primary_key or not column.nullable:
            row[column.name] = _value(column.type)
    return row | CHOICES.get(table.name, {})


def _value(kind: object) -> object:
    values: tuple[tuple[type, object], ...] = (
        (DateTime, datetime(2026, 1, 2, tzinfo=UTC)),
        (Boolean, False),
        (JSON, {}),
        (LargeBinary, b"x"),
        (Uuid, uuid4()),
        (String, "text"),
        (Numeric, 1),
    )
    return next((value for of, value in values if isinstance(kind, of)), 1)


def _counts(connection: Connection, tables: list[str]) -> dict[str, int]:
    return {
        name: connection.scalar(select(func.count()).select_from(Base.metadata.tables[name])) or 0
        for name in tables
    }


async def _on(server: str, statement: str) -> None:
    connection = await asyncpg.connect(server.replace("+asyncpg", ""))
    try:
        await connection.execute(statement)
    finally:
        await connection.close()
