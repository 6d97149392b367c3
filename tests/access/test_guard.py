"""What a guard looks at, and when a denied attempt is written down."""

from dataclasses import replace
from typing import Any

import pytest
from fastapi import FastAPI, Request
from sqlalchemy import func, select
from starlette.types import Message, Receive, Scope, Send

from app.access import denials
from app.access.denial_limit import ROWS_A_MINUTE, DenialLimit
from app.access.denials import Denial, DenialLog
from app.access.guard import Guard, origin_of
from app.access.permissions import Permission
from app.access.principal import Actor, Principal
from app.access.service import ObjectKind
from app.audit.service import Target
from app.db import Database
from app.errors import Forbidden
from app.models import AuditEntry
from app.observability.requests import RequestLog

DENIAL = Denial(Actor("ada", "user:1"), Target("run", "run-1"), {"path": "/runs/run-1"})


def request(path: dict[str, str] | None = None, query: str = "", **more: Any) -> Request:
    scope = {"type": "http", "path_params": path or {}, "query_string": query.encode()}
    return Request(scope | more)


@pytest.mark.parametrize(
    ("kind", "path", "query", "slugs"),
    [
        (None, {"slug": "a"}, "run=b", []),
        (ObjectKind.RUN, {"run_id": "a"}, "run=b", ["a"]),
        (ObjectKind.RUN, {"slug": "a"}, "", ["a"]),
        (ObjectKind.RUN, {}, "run=a&run=b&key=c", ["a", "b"]),
        (ObjectKind.RUN, {"project_id": "p"}, "run=", []),
        (ObjectKind.PROJECT, {"project_id": "p", "name": "n"}, "", ["p"]),
        (ObjectKind.EXPERIMENT, {}, "", []),
    ],
)
def test_a_guard_finds_what_an_address_names(
    kind: ObjectKind | None, path: dict[str, str], query: str, slugs: list[str]
) -> None:
    assert Guard(Permission.READ, kind).slugs(request(path, query)) == slugs


async def test_who_is_denied_does_not_choose_how_much_is_stored(sqlite_database: Database) -> None:
    asked = request(method="GET", headers=[])
    asked.scope.update(path="/" + "x" * 60_000, server=("skydeck", 80), scheme="http")
    nobody = Principal(actor=DENIAL.actor)
    guard = Guard(Permission.ADMINISTER)
    async with sqlite_database.read() as session:
        with pytest.raises(Forbidden), guard.noting(asked, nobody):
            await guard.check(asked, session, nobody)
    assert len(asked.scope["state"]["denial"].details["path"]) == 500


async def test_a_request_has_its_id_and_its_address() -> None:
    found = []

    async def app(scope: Scope, _receive: Receive, _send: Send) -> None:
        found.append(origin_of(Request(scope)))

    headers = [(b"x-request-id", b"req-mine")]
    scope = {"type": "http", "headers": headers, "client": ("10.0.0.7", 1)}
    await RequestLog(app)(scope, _no_receive, _no_send)
    assert (found[0].request_id, found[0].address) == ("req-mine", "10.0.0.7")
    assert origin_of(request()).address == ""


async def test_a_denial_is_stored_after_the_answer_and_even_if_that_fails(
    sqlite_database: Database,
) -> None:
    stored_at_the_answer = []

    async def count() -> int:
        async with sqlite_database.read() as session:
            return await session.scalar(select(func.count(AuditEntry.id))) or 0

    async def send(_message: Message) -> None:
        stored_at_the_answer.append(await count())

    async def app(scope: Scope, _receive: Receive, send: Send) -> None:
        denials.note(scope, DENIAL)
        await send({"type": "http.response.body"})
        raise ConnectionError("the reader went away")

    outer = FastAPI()
    outer.state.database, outer.state.denial_limit = sqlite_database, DenialLimit()
    with pytest.raises(ConnectionError):
        await DenialLog(app)({"type": "http", "app": outer}, _no_receive, send)
    assert stored_at_the_answer == [0]
    assert await count() == 1


async def test_what_is_denied_again_and_again_leaves_few_rows(sqlite_database: Database) -> None:
    async def app(scope: Scope, _receive: Receive, _send: Send) -> None:
        denials.note(scope, replace(DENIAL, details={"method": "GET", "path": scope["path"]}))

    outer = FastAPI()
    outer.state.database = sqlite_database
    outer.state.denial_limit = DenialLimit(lambda: 0.0)
    log = DenialLog(app)
    for number in [0, 0, *range(ROWS_A_MINUTE + 3)]:
        scope = {"type": "http", "app": outer, "path": f"/runs/{number}"}
        await log(scope, _no_receive, _no_send)
    async with sqlite_database.read() as session:
        rows = (await session.scalars(select(AuditEntry).order_by(AuditEntry.id))).all()
    assert [row.details["path"] for row in rows] == [f"/runs/{n}" for n in range(ROWS_A_MINUTE + 1)]
    assert ["note" in row.details for row in rows] == [False] * ROWS_A_MINUTE + [True]


async def test_a_denial_that_cannot_be_stored_is_told_to_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def app(scope: Scope, _receive: Receive, _send: Send) -> None:
        denials.note(scope, DENIAL)

    broken = Database("sqlite+aiosqlite:////nowhere/at/all.db")
    outer = FastAPI()
    outer.state.database, outer.state.denial_limit = broken, DenialLimit()
    await DenialLog(app)({"type": "http", "app": outer}, _no_receive, _no_send)
    await broken.close()
    assert "not in the audit log" in caplog.text


async def _no_receive() -> Message:
    raise AssertionError("nothing is read")


async def _no_send(_message: Message) -> None: ...
