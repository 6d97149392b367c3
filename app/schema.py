"""The version of the database's tables: bring it up to date, or refuse to run on it."""

import asyncio
import logging
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, inspect, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError

from app.db import make_engine, writer
from app.errors import StartError
from app.settings import ROOT

if TYPE_CHECKING:
    from alembic.config import Config as AlembicConfig

# Any number, the same in every process: one of them migrates, the others wait for it.
_MIGRATION_LOCK = 7_215_330_041
MIGRATIONS = ROOT / "migrations"


async def migrate(url: str) -> str:
    """Applies all migrations that are missing and returns the head revision.

    Safe to run from several processes at once. Raises `StartError` if the database cannot be
    opened, is full, or was made by a newer version of Skydeck.
    """
    _try_file(url)
    engine = make_engine(url, has_foreign_keys=False)
    try:
        async with writer(engine).begin() as connection:
            await connection.run_sync(_upgrade)
    except (SQLAlchemyError, OSError) as error:
        raise StartError(_why(url, error)) from None
    finally:
        await engine.dispose()
    return _revisions()[-1]


async def require_current(url: str) -> None:
    """Raises `StartError` unless the database is at this version's head revision."""
    _try_file(url)
    engine = make_engine(url)
    try:
        async with engine.connect() as connection:
            found = await connection.run_sync(_revision)
    except (SQLAlchemyError, OSError) as error:
        raise StartError(_why(url, error)) from None
    finally:
        await engine.dispose()
    _refuse_newer(found)
    if found != _revisions()[-1]:
        raise StartError("the database is not up to date: run `skydeck migrate` first")


def migrate_now(url: str) -> str:
    """`migrate` for callers without an event loop."""
    return asyncio.run(migrate(url))


def alembic_config() -> "AlembicConfig":
    """What Alembic must know of our migrations."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    logging.getLogger("alembic").setLevel(logging.WARNING)
    return config


def _try_file(url: str) -> None:
    """Opens SQLite's file once without the event loop. Raises `StartError` if that fails.

    The asynchronous driver's thread outlives a failed opening, and then complains on stderr about
    a loop that is closed.
    """
    parsed = make_url(url)
    if parsed.get_backend_name() != "sqlite":
        return
    try:
        with closing(sqlite3.connect(parsed.database or ":memory:")) as connection:
            connection.execute("PRAGMA schema_version")
    except sqlite3.Error as error:
        raise StartError(_why(url, error)) from None


def _upgrade(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _MIGRATION_LOCK})
    found = _revision(connection)
    _refuse_newer(found)
    if found == _revisions()[-1]:
        return
    # Imported here: processes that find their tables up to date do without.
    from alembic import command

    config = alembic_config()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
    _check_references(connection)


def _check_references(connection: Connection) -> None:
    """Raises `StartError`, which undoes the upgrade, if a row refers to one that is not there."""
    if connection.dialect.name != "sqlite":
        return
    lost = connection.execute(text("PRAGMA foreign_key_check")).first()
    if lost is not None:
        raise StartError(
            f"the upgrade was undone: a row of table {lost[0]} refers to a row of {lost[2]} that "
            "is not there; restore a backup"
        )


def _revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    found: str | None = connection.scalar(text("SELECT version_num FROM alembic_version"))
    return found


def _refuse_newer(found: str | None) -> None:
    if found is not None and found not in _revisions():
        raise StartError(
            f"the database is of a newer version of Skydeck (revision {found}): "
            "start that version, or restore a backup made before the upgrade"
        )


def _revisions() -> list[str]:
    """All revisions of this version, the newest last: each script's name begins with its own."""
    return sorted(file.name.partition("_")[0] for file in MIGRATIONS.glob("versions/[0-9]*.py"))


def _why(url: str, error: Exception) -> str:
    parsed = make_url(url)
    place = parsed.render_as_string(hide_password=True)
    if parsed.get_backend_name() == "sqlite" and parsed.database:
        place = str(Path(parsed.database))
    cause = error.orig if isinstance(error, DBAPIError) else error
    hint = ""
    if isinstance(error, OperationalError) and "full" in str(error).lower():
        hint = ": free some space on that disk, nothing was changed"
    return f"database {place} cannot be used: {cause}{hint}"
