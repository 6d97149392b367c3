"""The token of an attempt: found again by whoever has the key, and stored as its hash alone."""

from pathlib import Path

from app.clock import utcnow
from app.db import Database
from app.ids import new_id
from app.models import Attempt, AttemptStatus, Run
from app.secrets import crypto
from app.users import service as users
from app.users.service import TOKEN_PREFIX
from tests.factories import make_run


async def _attempt(database: Database) -> tuple[Run, Attempt]:
    async with database.write() as session:
        run = await make_run(session)
        attempt = Attempt(
            id=new_id(),
            run_id=run.id,
            number=1,
            submission_id=f"{run.slug}-a1",
            status=AttemptStatus.RUNNING,
            created_at=utcnow(),
        )
        session.add(attempt)
    return run, attempt


async def test_it_is_found_again_also_after_a_new_key(vaulted: Database, key_file: Path) -> None:
    run, attempt = await _attempt(vaulted)
    async with vaulted.write() as session:
        _, secret = await users.create_run_token(session, run, 1, attempt_id=attempt.id)
    assert secret.startswith(TOKEN_PREFIX)
    assert len(secret) == len(TOKEN_PREFIX) + 43
    crypto.add_key(key_file)
    async with vaulted.read() as session:
        assert await users.find_run_token(session, attempt) == secret
        assert await users.find_token(session, secret) is not None


async def test_one_that_is_revoked_is_not_handed_out(vaulted: Database) -> None:
    run, attempt = await _attempt(vaulted)
    async with vaulted.write() as session:
        token, secret = await users.create_run_token(session, run, 1, attempt_id=attempt.id)
        await users.revoke_token(session, token.slug)
    async with vaulted.read() as session:
        assert await users.find_run_token(session, attempt) is None
        assert await users.find_token(session, secret) is None


async def test_attempts_have_different_ones_and_without_a_key_there_are_none(
    vaulted: Database, sqlite_database: Database, key_file: Path
) -> None:
    async with vaulted.read() as session:
        first, second = (users.run_tokens_of(session, new_id()) for _ in range(2))
        assert len(first) == len(second) == 1
        assert first != second
    assert crypto.KeyRing(key_file.with_name("nothing")).derive("anything") == []
    async with sqlite_database.read() as session:
        assert users.run_tokens_of(session, new_id()) == []


async def test_tokens_of_a_run_that_ended_are_removed(vaulted: Database) -> None:
    run, attempt = await _attempt(vaulted)
    other, _ = await _attempt(vaulted)
    async with vaulted.write() as session:
        await users.create_run_token(session, run, 1, attempt_id=attempt.id)
        _, kept = await users.create_run_token(session, other, 1)
        await users.forget_run_tokens(session, run.id)
    async with vaulted.read() as session:
        assert await users.find_run_token(session, attempt) is None
        assert await users.find_token(session, kept) is not None
