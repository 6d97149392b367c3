"""A start never makes a key where one is missing, and says what to do."""

from pathlib import Path

import pytest

from app.db import Database
from app.errors import StartError
from app.secrets import crypto, service
from app.secrets.crypto import KeyMissing
from app.secrets.startup import require_keys
from tests.factories import ADA


def is_there(file: Path) -> bool:
    return file.exists()


def lose(file: Path) -> None:
    file.unlink()


async def look(database: Database, file: Path, *, makes: bool = True) -> str:
    async with database.read() as session:
        return await require_keys(session, file, makes=makes)


async def test_the_first_start_makes_a_key(sqlite_database: Database, key_file: Path) -> None:
    assert "no key file yet" in await look(sqlite_database, key_file, makes=False)
    assert not is_there(key_file)
    assert "made" in await look(sqlite_database, key_file)
    assert await look(sqlite_database, key_file) == "1 key, 0 secrets"


async def test_a_lost_file_is_said_and_not_replaced(vaulted: Database, key_file: Path) -> None:
    async with vaulted.write() as session:
        await service.put(session, None, "KEY", "some value", actor=ADA)
    assert await look(vaulted, key_file) == "1 key, 1 secret"
    lose(key_file)
    for makes in (True, False):
        with pytest.raises(StartError, match="holds 1 secret: put it back"):
            await look(vaulted, key_file, makes=makes)
    assert not is_there(key_file)


async def test_a_file_of_another_installation_is_refused(vaulted: Database, key_file: Path) -> None:
    async with vaulted.write() as session:
        await service.put(session, None, "KEY", "some value", actor=ADA)
    old = crypto.key_id(crypto.read_keys(key_file)[0])
    crypto.add_key(key_file)
    assert "1 under an older key" in await look(vaulted, key_file)
    crypto.drop_keys(key_file, [old])
    with pytest.raises(StartError, match=f"lacks key {old}"):
        await look(vaulted, key_file)


async def test_a_file_that_others_may_read_stops_the_start(
    vaulted: Database, key_file: Path
) -> None:
    key_file.chmod(0o644)  # noqa: ASYNC240 - a moment's work
    with pytest.raises(StartError, match="chmod 600"):
        await look(vaulted, key_file)


async def test_with_a_foreign_file_nothing_is_set_and_what_is_lost_can_be_given_up(
    vaulted: Database, key_file: Path
) -> None:
    async with vaulted.write() as session:
        await service.put(session, None, "KEY", "some value", actor=ADA)
    lose(key_file)
    crypto.make_file(key_file)
    with pytest.raises(KeyMissing) as caught:
        async with vaulted.write() as session:
            await service.put(session, None, "OTHER", "another value", actor=ADA)
    assert "put the right file back" in caught.value.operator_message.lower()
    with pytest.raises(StartError, match="skydeck secret delete KEY --site"):
        await look(vaulted, key_file)
    async with vaulted.write() as session:
        await service.delete(session, None, "KEY", actor=ADA)
    assert await look(vaulted, key_file) == "1 key, 0 secrets"
    async with vaulted.write() as session:
        assert await service.put(session, None, "OTHER", "another value", actor=ADA)
