"""Who may call what: every route says so, by one kind of dependency."""

from collections.abc import Iterator
from datetime import timedelta

import httpx
import pytest
from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.routing import iter_route_contexts

from app.api.deps import Permission
from app.clock import utcnow
from app.db import Database
from app.users import service as users
from app.users.service import Scope
from tests.api.helpers import V1, bearer, make_token, problem

SAFE = {"GET", "HEAD"}
READING_POSTS = {f"{V1}/configs/{what}" for what in ("validate", "render", "import", "diff")}


def permissions(dependant: Dependant) -> Iterator[Permission]:
    if isinstance(dependant.call, Permission):
        yield dependant.call
    for inner in dependant.dependencies:
        yield from permissions(inner)


def routes(app: FastAPI) -> dict[tuple[str, str], list[Permission]]:
    return {
        (route.path, method): list(permissions(route.dependant))
        for route in iter_route_contexts(app.routes)
        if route.path and route.path.startswith(V1) and hasattr(route, "dependant")
        for method in route.methods or ()
    }


def test_every_route_names_exactly_one_permission(application: FastAPI) -> None:
    found = routes(application)
    assert found
    assert [place for place, needed in found.items() if len(needed) != 1] == []


def test_what_changes_something_needs_more_than_reading(application: FastAPI) -> None:
    lax = [
        place
        for place, needed in routes(application).items()
        if place[1] not in SAFE and place[0] not in READING_POSTS
        if not needed[0].needed.allows(Scope.WRITE)
    ]
    assert lax == []


async def test_no_route_answers_a_stranger(application: FastAPI, anyone: httpx.AsyncClient) -> None:
    for path, method in routes(application):
        answer = await anyone.request(method, path, json={})
        assert answer.status_code == 401, (path, method)


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
