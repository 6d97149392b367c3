"""Plants twenty secrets, lets a job print them in every way, and looks for them everywhere."""

import asyncio
import io
import json
import logging
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, MutableMapping
from pathlib import Path
from typing import Any

import pytest
import structlog
from fastapi import FastAPI

from app.access.coverage import guards_of
from app.db import Database
from app.main import create_app
from app.observability.logging import configure
from app.observability.masking import remember
from app.settings import Settings
from app.web.session_cookie import SESSION_COOKIE
from tests.api.helpers import bearer
from tests.conftest import sqlite_copy
from tests.security.planted import ALL, PROJECT, SITE, columns, finds, printed
from tests.security.planting import Planted, logging_to, plant

STREAM_SECONDS = 0.4
"""How long a page that never ends is read."""


@pytest.fixture(scope="module")
def planted(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Planted:
    """Planted once: the tests only look."""
    folder = tmp_path_factory.mktemp("planted")
    captured = io.StringIO()

    async def fill() -> Planted:
        database = Database(sqlite_copy(sqlite_template, folder))
        try:
            return await plant(database, folder / "home", captured)
        finally:
            await database.close()

    with logging_to(captured):
        return asyncio.run(fill())


@pytest.fixture
async def app(planted: Planted) -> AsyncIterator[FastAPI]:
    database = Database(f"sqlite+aiosqlite:///{planted.file}")
    yield create_app(Settings(home=planted.home), database)
    await database.close()


async def test_no_page_and_no_answer_holds_a_secret(planted: Planted, app: FastAPI) -> None:
    seen = {}
    for method, path in guards_of(app):
        if method != "GET":
            continue
        for url in _addresses(path, planted.urls):
            status, body = await _get(app, planted, url)
            seen[path] = status
            assert finds(body) == [], url
    others = {path: status for path, status in seen.items() if status not in (200, 303)}
    # The probe wants the id of a check as its token.
    assert others == {
        "/api/v1/probe": 401,
        "/join": 410,
        "/reset": 410,
        "/runs/{slug}/stop": 409,
    }
    assert seen["/runs/{slug}/log.txt"] == seen["/api/v1/runs/{run_id}/logs.txt"] == 200


def test_the_search_would_find_each_way_in_which_a_value_is_printed() -> None:
    missed = [
        (name, text) for name, value in ALL.items() for text in printed(value) if not finds(text)
    ]
    assert missed == []


def test_no_column_of_the_database_holds_a_secret(planted: Planted) -> None:
    found: defaultdict[str, list[bytes]] = defaultdict(list)
    for name, data in columns(planted.file):
        found[name].append(data)
    for name, parts in found.items():
        assert finds(b"\n\0\n".join(parts)) == [], name
    tables = {name.partition(".")[0] for name in found}
    assert {"secret", "log_chunk", "attempt", "event", "config", "audit_entry"} <= tables
    assert finds(planted.file.read_bytes()) == []


def test_the_marks_say_which_secret_stood_there(planted: Planted) -> None:
    for name in ALL.keys() - {"S_OVERLAP"}:
        assert f"***{name}***".encode() in planted.stream, name
    assert finds(planted.stream) == []


def test_the_services_own_log_holds_no_secret(planted: Planted) -> None:
    logger = logging.getLogger("test")
    stream = io.StringIO()
    for name, value in ALL.items():
        remember(name, value)
    for shape in ("text", "json"):
        with logging_to(stream):
            configure("debug", shape, stream)
            for value in ALL.values():
                logger.warning("value %s", value, extra={"deep": {"er": [value, repr(value)]}})
                structlog.stdlib.get_logger("ours").info("saved", note=json.dumps(value))
                try:
                    raise ValueError(value)
                except ValueError:
                    logger.exception("failed with %r", value)
    assert stream.getvalue().count("ValueError") >= 2 * len(ALL)
    assert finds(stream.getvalue().encode()) == []
    assert finds(planted.service_log.encode()) == []
    assert "failed" in planted.service_log


async def test_a_config_with_a_value_in_it_is_refused_without_repeating_it(
    planted: Planted, app: FastAPI
) -> None:
    headers = bearer(planted.token)
    for field, value in (
        ("data.val_data", PROJECT["P_PLAIN"]),
        ("trainer.seed", f"x {PROJECT['P_UNICODE']}"),
        ("job.secrets", SITE["S_PLAIN"]),
    ):
        body = {"name": "typed", "recipe": "embedded-maze-grpo", "config": {field: value}}
        for path in ("/api/v1/experiments", "/api/v1/configs/validate", "/api/v1/configs/render"):
            given = body if path.endswith("experiments") else {**body, "name": None}
            given = {key: each for key, each in given.items() if each is not None}
            status, answer = await _call(app, "POST", path, given, headers)
            assert status == (200 if path.endswith("validate") else 422), (path, answer)
            assert b"holds_secret" in answer
            assert finds(answer) == []


QUERIES = {
    "/runs/{slug}/chart": "?key=loss",
    "/charts": "?run={slug}&key=loss",
    "/shared/{secret}/points": "?key=loss",
    "/series": "?run={slug}&key=loss",
    "/series.csv": "?run={slug}&key=loss",
    "/api/v1/series": "?run={slug}&key=loss",
    "/api/v1/compare": "?run={slug}&run={other}",
    "/runs/selected": "?action=tag&run={slug}",
    "/compare": "?run={slug}&run={other}&group=experiment",
    "/compare/mazes": "?run={slug}",
    "/compare/report.html": "?run={slug}&run={other}",
    "/compare/statistics": "?run={slug}&run={other}&group=experiment",
    "/api/v1/experiments/{experiment_id}/diff": "?from=1&to=1",
    "/api/2.0/mlflow/experiments/get": "?experiment_id={experiment}",
    "/api/2.0/mlflow/experiments/get-by-name": "?experiment_name={name}",
    "/api/2.0/mlflow/runs/get": "?run_id={slug}",
    "/api/2.0/mlflow/metrics/get-history": "?run_id={slug}&metric_key=loss",
    "/runs/new/keys": "?recipe=visgym-sft-grpo&q=trainer",
}
"""What an address is no question without."""


def _addresses(path: str, urls: dict[str, dict[str, str]]) -> Iterator[str]:
    known: dict[str, str] = {}
    for head, values in urls.items():
        if path.removeprefix("/api/v1").startswith(head):
            known = values
    if "/secrets/{name}" in path and path.startswith("/settings"):
        known = urls["/settings"]
    files = ("json", "gif") if path.startswith("/playground") else ("csv", "jsonl")
    for kind in files if "{kind}" in path else ("",):
        url = path.format(**{**known, "kind": kind}) if "{" in path else path
        slug, home = urls["/runs"]["slug"], urls["/experiments"]
        query = QUERIES.get(path, "")
        url += query.format(
            slug=slug,
            other=urls["/runs"]["other"],
            experiment=home["slug"],
            name=home["experiment_name"],
        )
        yield url
        if path in ("/runs/{slug}/log", "/api/v1/runs/{run_id}/logs"):
            yield f"{url}?q=planted"
        if path == "/runs/new":
            yield f"{url}?from={slug}"


async def _get(app: FastAPI, planted: Planted, url: str) -> tuple[int, bytes]:
    headers = {"Cookie": f"{SESSION_COOKIE}={planted.cookie}"}
    if url.startswith("/api/"):
        headers = bearer(planted.token)
    return await _call(app, "GET", url, None, headers)


async def _call(
    app: FastAPI, method: str, url: str, body: Any, headers: dict[str, str]
) -> tuple[int, bytes]:
    """Status and body with all headers; a page that never ends is left after a moment."""
    path, _, query = url.partition("?")
    raw = json.dumps(body).encode() if body is not None else b""
    given = {**headers, "Host": "skydeck.test", "Content-Type": "application/json"}
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.lower().encode(), value.encode()) for name, value in given.items()],
        "client": ("127.0.0.1", 1),
        "server": ("skydeck.test", 80),
        "state": {},
    }
    sent: list[MutableMapping[str, Any]] = []
    is_asked = False

    async def receive() -> MutableMapping[str, Any]:
        nonlocal is_asked
        if not is_asked:
            is_asked = True
            return {"type": "http.request", "body": raw, "more_body": False}
        await asyncio.sleep(3600)
        return {"type": "http.disconnect"}

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    with_limit = asyncio.wait_for(
        app(scope, receive, send), STREAM_SECONDS if "stream" in url else 30
    )
    try:
        await with_limit
    except TimeoutError:
        assert "stream" in url
    start = next(message for message in sent if message["type"] == "http.response.start")
    head = b"\n".join(name + b": " + value for name, value in start["headers"])
    return start["status"], head + b"".join(m.get("body", b"") for m in sent)
