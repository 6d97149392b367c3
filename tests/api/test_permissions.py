"""What tokens open, and how they end. Who may call what: `tests/security/test_rights.py`."""

from datetime import timedelta

import httpx
import pytest

from app.access.permissions import Scope
from app.clock import utcnow
from app.db import Database
from app.users import service as users
from tests.api.helpers import V1, bearer, make_token, problem


async def test_a_stranger_is_told_how_to_sign_in(anyone: httpx.AsyncClient) -> None:
    answer = await anyone.get(f"{V1}/runs")
    assert "Bearer" in problem(answer, 401)["detail"]
    assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("secret", ["sky_guessed", "", "x" * 5000])
async def test_a_wrong_token_is_refused(anyone: httpx.AsyncClient, secret: str) -> None:
    problem(await anyone.get(f"{V1}/runs", headers=bearer(secret)), 401)


async def test_a_reading_token_cannot_write(anyone: httpx.AsyncClient, database: Database) -> None:
    headers = bearer(await make_token(database, Scope.READ))
    assert (await anyone.get(f"{V1}/runs", headers=headers)).status_code == 200
    answer = await anyone.post(f"{V1}/runs/external", json={"name": "x"}, headers=headers)
    assert "write" in problem(answer, 403)["detail"]
    assert (await anyone.get(f"{V1}/runs", headers=headers)).json()["items"] == []


async def test_a_writing_token_cannot_administer(api: httpx.AsyncClient) -> None:
    problem(await api.get(f"{V1}/tokens"), 403)


async def test_a_token_ends_at_its_time_and_when_revoked(
    anyone: httpx.AsyncClient, database: Database
) -> None:
    now = utcnow()
    async with database.write() as session:
        _, late = await users.create_token(
            session,
            name="late",
            scope=Scope.READ,
            now=now - timedelta(days=2),
            expires_at=now - timedelta(days=1),
        )
        token, revoked = await users.create_token(session, name="revoked", scope=Scope.READ)
        await users.revoke_token(session, token.slug)
    for secret in (late, revoked):
        problem(await anyone.get(f"{V1}/runs", headers=bearer(secret)), 401)
