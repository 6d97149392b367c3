from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, func, select, text

from app import schema
from app.clock import utcnow
from app.db import Database
from app.errors import StartError
from app.models import Base, Project
from app.schema import migrate, require_current


async def test_the_migrations_make_the_models_tables(database: Database) -> None:
    def differences(connection: Connection) -> list[object]:
        return list(compare_metadata(MigrationContext.configure(connection), Base.metadata))

    async with database.engine.connect() as connection:
        assert await connection.run_sync(differences) == []


def test_each_script_is_named_by_its_revision() -> None:
    scripts = ScriptDirectory.from_config(schema.alembic_config())
    names = [Path(script.path).name.partition("_")[0] for script in scripts.walk_revisions()]
    assert names == [script.revision for script in scripts.walk_revisions()]
    assert [names[0]] == scripts.get_heads() == [max(names)]


async def test_migrating_again_changes_nothing(database: Database, database_url: str) -> None:
    assert await migrate(database_url) == await migrate(database_url)
    await require_current(database_url)


async def test_a_newer_database_is_refused(database: Database, database_url: str) -> None:
    async with database.write() as session:
        await session.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    for step in (migrate, require_current):
        with pytest.raises(StartError, match="newer version of Skydeck"):
            await step(database_url)


async def test_an_empty_database_must_be_migrated_first(tmp_path: Path) -> None:
    url = f"sqlite+aiosqlite:///{tmp_path / 'empty.db'}"
    with pytest.raises(StartError, match="skydeck migrate"):
        await require_current(url)


async def test_a_database_that_cannot_be_opened_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(StartError) as caught:
        await migrate(f"sqlite+aiosqlite:///{tmp_path / 'missing' / 'x.db'}")
    assert "missing/x.db cannot be used" in caught.value.message
    assert "\n" not in caught.value.message


async def test_a_write_that_fails_leaves_nothing(database: Database) -> None:
    async def fail_midway() -> None:
        async with database.write() as session:
            session.add(Project(slug="p", name="P", created_at=utcnow()))
            await session.flush()
            raise RuntimeError("midway")

    with pytest.raises(RuntimeError, match="midway"):
        await fail_midway()
    async with database.read() as session:
        assert await session.scalar(select(func.count(Project.id))) == 0
