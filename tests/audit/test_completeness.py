"""Every route that changes something leaves a row when it does, and when it refuses somebody."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy import select

from app.access.coverage import guards_of
from app.access.permissions import Permission
from app.audit.actions import Action
from app.db import Database
from app.models import AuditEntry, AuditOutcome
from app.secrets.crypto import make_file
from app.settings import Settings
from tests.audit.prepare import Names
from tests.audit.samples import SAMPLES, UNCHANGING, Sample
from tests.audit.world import Caller, World, make_world
from tests.conftest import put_over
from tests.security.rights_table import ACCOUNT, PUBLIC, TABLE

SAFE = {"GET", "HEAD", "OPTIONS", "MOUNT"}
ADDRESS = "192.0.2.7"


@pytest.fixture
async def world(
    shared_application: FastAPI, sqlite_database: Database, settings: Settings
) -> AsyncIterator[World]:
    settings.home.mkdir()
    make_file(settings.secret_keys)
    put_over(shared_application, settings, sqlite_database)
    transport = httpx.ASGITransport(shared_application, client=(ADDRESS, 4711))
    async with httpx.AsyncClient(transport=transport, base_url="http://skydeck.test") as client:
        yield await make_world(sqlite_database, client)


# Anybody may ask these of what is their own; what they refuse is refused for its content.
_FOR_ALL = {*PUBLIC.split("\n"), *(line.strip() for line in TABLE[ACCOUNT, None].split("\n"))}
REFUSABLE = [
    route for route, sample in SAMPLES.items() if route not in _FOR_ALL or sample.wrong is not None
]


def guarded(application: FastAPI) -> dict[str, Permission | None]:
    """The permission that each route asks for that changes something; None: a public one."""
    return {
        f"{method} {path}": guards[0].permission if guards else None
        for (method, path), guards in guards_of(application).items()
        if method not in SAFE
    }


def test_each_route_that_changes_something_has_a_sample(shared_application: FastAPI) -> None:
    assert set(guarded(shared_application)) == SAMPLES.keys() | UNCHANGING.keys()
    assert not SAMPLES.keys() & UNCHANGING.keys()


@pytest.mark.parametrize("route", list(SAMPLES))
async def test_a_change_leaves_its_row(world: World, route: str) -> None:
    sample = SAMPLES[route]
    method, names = route.partition(" ")[0], await prepared(world, sample)
    known = await ids(world)
    caller = world.admin if sample.is_signed_in else None
    answer = await world.ask(caller, method, address(route, names), filled(sample.body, names))
    assert answer.status_code < 400, answer.text
    done = [row for row in await new_rows(world, known) if row.outcome is AuditOutcome.DONE]
    (row,) = [row for row in done if row.action == sample.action]
    for each in done:
        assert_origin(each, answer)
        assert each.actor
        assert each.actor_key in world.admin.audit_keys or not sample.is_signed_in
    assert row.object_kind
    assert row.object_slug
    assert_no_secret(done, secrets_in(world, filled(sample.body, names), answer))


@pytest.mark.parametrize("route", REFUSABLE)
async def test_whoever_may_not_is_noted(
    world: World, shared_application: FastAPI, route: str
) -> None:
    sample, permission = SAMPLES[route], guarded(shared_application)[route]
    method, names = route.partition(" ")[0], await prepared(world, sample)
    is_for_all = permission in (None, Permission.ACCOUNT)
    caller: Caller | None = None if is_for_all else world.outsider
    body = (sample.wrong if is_for_all else sample.body) or {}
    known = await ids(world)
    answer = await world.ask(caller, method, address(route, names), filled(body, names))
    assert answer.status_code in (401, 403, 404, 422), answer.text
    (row,) = await new_rows(world, known)
    assert row.outcome is AuditOutcome.DENIED
    assert row.action == (sample.action if is_for_all else Action.ACCESS)
    assert_origin(row, answer)
    assert row.actor_key in (world.outsider.audit_keys if caller else {""})
    if caller:
        assert row.details["method"] == method
        assert row.details["path"] == answer.request.url.path
        assert row.details["needs"] == permission
        # Whoever administers the project sees who was kept out of it.
        assert (row.project_id is None) == (row.object_kind == "site")


def assert_origin(row: AuditEntry, answer: httpx.Response) -> None:
    assert row.address == ADDRESS
    assert row.request_id == answer.headers["x-request-id"]


def assert_no_secret(rows: Sequence[AuditEntry], secrets: Sequence[str]) -> None:
    columns = [column.key for column in AuditEntry.__table__.columns]
    stored = "\n".join(str(getattr(row, name)) for row in rows for name in columns)
    assert [secret for secret in secrets if secret in stored] == []


def secrets_in(world: World, body: Mapping[str, Any], answer: httpx.Response) -> list[str]:
    """What was typed as a secret, what came back as one, and what the caller signed in by."""
    given = [str(body[name]) for name in ("password", "value", "token") if name in body]
    is_json = answer.content and "json" in answer.headers.get("content-type", "")
    made = answer.json() if is_json else {}
    shown = [made[name] for name in ("token", "url") if name in made]
    return [world.admin.session_secret, world.admin.token, *given, *shown]


def address(route: str, names: Names) -> str:
    path = route.partition(" ")[2].replace(":path}", "}")
    return (path + SAMPLES[route].query).format(**names)


def filled(body: Mapping[str, Any], names: Names) -> dict[str, Any]:
    return {
        name: value.format(**names) if isinstance(value, str) else value
        for name, value in body.items()
    }


async def prepared(world: World, sample: Sample) -> Names:
    async with world.database.write() as session:
        return await sample.prepare(world, session)


async def ids(world: World) -> set[object]:
    async with world.database.read() as session:
        return set(await session.scalars(select(AuditEntry.id)))


async def new_rows(world: World, known: set[object]) -> Sequence[AuditEntry]:
    async with world.database.read() as session:
        rows = await session.scalars(select(AuditEntry).order_by(AuditEntry.id))
    return [row for row in rows if row.id not in known]
