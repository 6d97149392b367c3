"""A rotation may be broken off anywhere, be repeated, and run beside everything else."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import select

from app.db import Database
from app.errors import Conflict
from app.models import AuditEntry, Secret
from app.secrets import crypto, repository, rotation, service
from app.secrets.vault import Vault, vault_of
from tests.factories import ADA

COUNT = 7


class Killed(BaseException):
    """As SIGKILL: nothing catches it."""


@pytest.fixture
async def seven(vaulted: Database) -> Database:
    async with vaulted.write() as session:
        for number in range(COUNT):
            await service.put(session, None, f"KEY_{number}", f"value no. {number}", actor=ADA)
    return vaulted


async def values(database: Database) -> list[str]:
    async with database.read() as session:
        rows = await session.scalars(select(Secret).order_by(Secret.name))
        return [vault_of(session).open(row) for row in rows]


async def keys_used(database: Database) -> set[str]:
    async with database.read() as session:
        return set(await repository.count_by_key(session))


async def test_all_secrets_come_under_the_new_key(seven: Database, key_file: Path) -> None:
    before = await keys_used(seven)
    done = await rotation.rotate(seven, key_file, actor=ADA, batch=3)
    assert (done.changed_count, done.is_resumed) == (COUNT, False)
    assert await keys_used(seven) == {done.key_id}
    assert done.key_id not in before
    assert await values(seven) == [f"value no. {number}" for number in range(COUNT)]
    async with seven.read() as session:
        query = select(AuditEntry).where(AuditEntry.action == "secret.rotate")
        assert (await session.scalars(query)).one().details["key"] == done.key_id


@pytest.mark.parametrize("kill_at", range(12))
async def test_killed_anywhere_it_loses_nothing_and_goes_on(
    seven: Database, key_file: Path, kill_at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = iter(range(100))
    _kill(monkeypatch, steps, kill_at)
    try:
        await rotation.rotate(seven, key_file, actor=ADA, batch=2)
        killed = False
    except Killed:
        killed = True
    monkeypatch.undo()
    assert await values(seven) == [f"value no. {number}" for number in range(COUNT)]
    done = await rotation.rotate(seven, key_file, actor=ADA, batch=2)
    assert await keys_used(seven) == {done.key_id}
    assert await values(seven) == [f"value no. {number}" for number in range(COUNT)]
    assert len(crypto.read_keys(key_file)) <= (2 if killed else 3)


def _kill(monkeypatch: pytest.MonkeyPatch, steps: Iterator[int], at: int) -> None:
    """Before each write of the file and of a row, some step is the last."""
    real_write, real_replace = crypto._write, repository.replace_text

    def write(*given: object) -> None:
        if next(steps) == at:
            raise Killed
        real_write(*given)  # type: ignore[arg-type]
        if next(steps) == at:
            raise Killed

    async def replace(*given: object, **named: object) -> bool:
        if next(steps) == at:
            raise Killed
        return await real_replace(*given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(crypto, "_write", write)
    monkeypatch.setattr(repository, "replace_text", replace)


async def test_who_runs_already_reads_and_writes_on(seven: Database, key_file: Path) -> None:
    running = Vault(key_file)
    async with seven.read() as session:
        rows = (await session.scalars(select(Secret))).all()
    assert len([running.open(row) for row in rows]) == COUNT
    done = await rotation.rotate(seven, key_file, actor=ADA)
    async with seven.read() as session:
        rows = (await session.scalars(select(Secret))).all()
    assert sorted(running.open(row) for row in rows) == sorted(await values(seven))
    assert running.seal("slug", "NAME", "a later value").key_id == done.key_id


async def test_a_value_that_is_set_meanwhile_is_not_overwritten(
    seven: Database, key_file: Path
) -> None:
    async with seven.read() as session:
        stale = (await session.scalars(select(Secret).where(Secret.name == "KEY_3"))).one()
    async with seven.write() as session:
        await service.put(session, None, "KEY_3", "set meanwhile", actor=ADA)
    async with seven.write() as session:
        assert not await repository.replace_text(session, stale, ciphertext="x", key_id="y")
    assert "set meanwhile" in await values(seven)


async def test_old_keys_go_only_when_nothing_needs_them(seven: Database, key_file: Path) -> None:
    assert await rotation.forget_old(seven, key_file, actor=ADA) == []
    [old] = await keys_used(seven)
    newest = crypto.add_key(key_file)
    with pytest.raises(Conflict, match="7 secrets"):
        await rotation.forget_old(seven, key_file, actor=ADA)
    assert Vault(key_file).keys.ids() == [newest, old]
    await rotation.rotate(seven, key_file, actor=ADA)
    assert await rotation.forget_old(seven, key_file, actor=ADA) == [old]
    assert Vault(key_file).keys.ids() == [newest]
    assert len(await values(seven)) == COUNT


async def test_a_secret_that_is_stored_while_keys_go_brings_them_back(
    seven: Database, key_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [old] = await keys_used(seven)
    await rotation.rotate(seven, key_file, actor=ADA)
    slow = Vault(key_file)
    real = crypto.drop_keys
    sealed = crypto.KeyRing(key_file)
    sealed._read()

    def drop(file: Path, ids: list[str]) -> None:
        real(file, ids)
        monkeypatch.setattr(repository, "count_by_key", counted)

    async def counted(_session: object) -> dict[str, int]:
        return {old: 1}

    monkeypatch.setattr(crypto, "drop_keys", drop)
    with pytest.raises(Conflict):
        await rotation.forget_old(seven, key_file, actor=ADA)
    assert old in slow.keys.ids()
