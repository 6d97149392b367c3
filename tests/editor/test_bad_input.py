"""What is no config is answered at once and in words, on every way in; nothing of it is executed.

Times are CPU seconds of the whole process, the better of two tries; memory is the process's peak.
"""

import json
import os
import resource
import time
from collections.abc import Awaitable, Callable
from urllib.parse import urlencode

import httpx
import pytest
from fastapi import FastAPI

from app.access.permissions import Scope
from app.db import Database
from tests.api.helpers import bearer, make_token
from tests.editor.forms import MAZE, SKYRL
from tests.recipes.bad_input import CONFIGS, MARK, TEXTS
from tests.web.conftest import ORIGIN
from tests.web.html import parse

pytestmark = pytest.mark.usefixtures("seeded")
LIMIT_SECONDS = 1.0
LIMIT_BYTES = 200_000_000
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
JSON = {"Content-Type": "application/json"}
ANSWERS = (200, 400, 413, 422)

Ask = Callable[[], Awaitable[httpx.Response]]


@pytest.fixture
async def api(app: FastAPI, sqlite_database: Database) -> httpx.AsyncClient:
    """A caller of the JSON API with a token that may write."""
    headers = bearer(await make_token(sqlite_database, Scope.WRITE))
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url=ORIGIN, headers=headers)


async def answered(ask: Ask) -> httpx.Response:
    """The answer, which came in time, took no memory to speak of, and did not run anything."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    times: list[float] = []
    while not times or (times[-1] >= LIMIT_SECONDS and len(times) < 2):
        started = time.process_time()
        answer = await ask()
        times.append(time.process_time() - started)
    assert min(times) < LIMIT_SECONDS
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak) * 1024
    assert grown < LIMIT_BYTES
    assert answer.status_code in ANSWERS, answer.text[:500]
    assert not os.path.lexists(MARK)  # noqa: ASYNC240 - nothing waits for it
    return answer


def posted(client: httpx.AsyncClient, url: str, body: bytes, headers: dict[str, str]) -> Ask:
    return lambda: client.post(url, content=body, headers=headers)


def form(*pairs: tuple[str, str]) -> bytes:
    return urlencode(pairs).encode()


@pytest.mark.parametrize("name", TEXTS)
async def test_texts_are_imported_or_refused_in_words(
    api: httpx.AsyncClient, client: httpx.AsyncClient, name: str
) -> None:
    content, text = TEXTS[name], TEXTS[name].decode(errors="replace")
    url = "/api/v1/configs/import"
    for body in (json.dumps({"text": text}).encode(), content):
        answer = await answered(posted(api, url, body, JSON))
        assert answer.status_code == 200 or answer.json()["detail"]
    answer = await answered(posted(client, "/runs/new/import", form(("text", text)), FORM))
    assert answer.status_code == 200 or parse(answer.text).all("heading")
    files = {"file": ("train_job.sh", content)}
    await answered(lambda: client.post("/runs/new/import", data={"text": ""}, files=files))


@pytest.mark.parametrize("name", TEXTS)
async def test_texts_in_the_editor_stay_and_are_answered_in_words(
    client: httpx.AsyncClient, name: str
) -> None:
    text = TEXTS[name].decode(errors="replace")
    as_yaml = form(("recipe", SKYRL), ("view", "yaml"), ("yaml", text), ("do", "check"))
    as_values = form(
        ("recipe", SKYRL),
        ("trainer.epochs", text),
        ("job.environment", text),
        ("other_key", "trainer.algorithm.eps_clip_low"),
        ("other_value", text),
        ("do", "check"),
    )
    for url in ("/runs/new/check", "/runs/new", "/runs/new/yaml"):
        for body in (as_yaml, as_values):
            answer = await answered(posted(client, url, body, FORM))
            assert "to correct" in answer.text or answer.status_code == 413
    made_up = form(("recipe", SKYRL), ("set", text))
    assert (await answered(posted(client, "/runs/new", made_up, FORM))).status_code in (413, 422)


@pytest.mark.parametrize("row", ["{}", "trainer.{}", "job.{}"])
async def test_ten_thousand_fields_are_refused(client: httpx.AsyncClient, row: str) -> None:
    fields = [(row.format(f"key_{n}"), "1") for n in range(10_000)]
    for url in ("/runs/new/check", "/runs/new", "/runs/new/yaml"):
        answer = await answered(posted(client, url, form(("recipe", SKYRL), *fields), FORM))
        assert answer.status_code == 400
        assert "fields" in parse(answer.text).text


@pytest.mark.parametrize("recipe", [SKYRL, MAZE, "command"])
async def test_configs_are_answered_in_words(api: httpx.AsyncClient, recipe: str) -> None:
    for name in CONFIGS:
        await every_route(api, recipe, name)


async def every_route(api: httpx.AsyncClient, recipe: str, name: str) -> None:
    one = f'"recipe": "{recipe}", "config": {CONFIGS[name]}'
    for route in ("validate", "render", "diff"):
        answer = await answered(
            posted(api, f"/api/v1/configs/{route}", f"{{{one}}}".encode(), JSON)
        )
        if answer.status_code != 200:
            assert answer.json()["detail"]
        elif route == "validate" and not answer.json()["ok"]:
            assert all(each["message"] for each in answer.json()["errors"])
    other = f'{{"recipe": "{recipe}", "config": {{}}, "other": {{{one}}}}}'
    await answered(posted(api, "/api/v1/configs/diff", other.encode(), JSON))


async def test_too_many_keys_are_counted(api: httpx.AsyncClient) -> None:
    body = f'{{"recipe": "{SKYRL}", "config": {CONFIGS["ten thousand keys"]}}}'
    answer = await answered(posted(api, "/api/v1/configs/validate", body.encode(), JSON))
    assert answer.status_code == 422
    assert "10,000 keys" in json.dumps(answer.json())
