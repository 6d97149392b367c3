"""Plants twenty secrets, lets a job print them in every way, and looks for them everywhere."""

import asyncio
import io
import json
import logging
import random
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import structlog
from fastapi import FastAPI

from app.access.coverage import guards_of
from app.access.permissions import Scope
from app.clusters import registry
from app.clusters.registration import Wish
from app.clusters.service import ensure_embedded
from app.code import service as code
from app.code.receive import received
from app.db import Database
from app.logs import service as logs
from app.main import create_app
from app.models import ClusterStatus, RunStatus
from app.observability.logging import configure
from app.observability.masking import remember
from app.projects import service as projects
from app.ray.errors import RayRefused
from app.ray.gateway import JobStatus
from app.runs import service as runs
from app.secrets import service as secrets
from app.settings import Settings
from app.sharing import service as sharing
from app.users import service as users
from app.web.session_cookie import SESSION_COOKIE
from tests.api.helpers import bearer, make_token
from tests.code.zips import zip_of
from tests.conftest import sqlite_copy
from tests.episodes.factories import add_rollouts
from tests.evaluations.factories import add_endpoint, add_played
from tests.factories import ADA, make_experiment, make_promotion
from tests.playground.factories import add_episode, said
from tests.secrets.conftest import with_keys
from tests.security.planted import ALL, PROJECT, SITE, columns, finds, printed
from tests.sweeps.factories import make_sweep
from tests.web.seed import sign_in
from tests.worker.reconcilers.conftest import Bench, make_bench

TRACKING = "2026-11-29 12:00:01.500 | INFO     | skyrl.train.utils.tracking:log:120 - "
STREAM_SECONDS = 0.4
"""How long a page that never ends is read."""


@dataclass(frozen=True, slots=True)
class Planted:
    """What the job left behind. `urls`: values for the parameters of addresses by their head."""

    home: Path
    file: Path
    service_log: str
    urls: dict[str, dict[str, str]]
    cookie: str
    token: str
    stream: bytes


@pytest.fixture(scope="module")
def planted(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Planted:
    """Planted once: the tests only look."""
    folder = tmp_path_factory.mktemp("planted")
    captured = io.StringIO()

    async def plant() -> Planted:
        database = Database(sqlite_copy(sqlite_template, folder))
        try:
            return await _plant(database, folder / "home", captured)
        finally:
            await database.close()

    with _logging_to(captured):
        return asyncio.run(plant())


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
    assert others == {"/join": 410, "/reset": 410, "/runs/{slug}/stop": 409}
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
        with _logging_to(stream):
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


@contextmanager
def _logging_to(stream: io.StringIO) -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    configure("debug", "text", stream)
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
        structlog.reset_defaults()


async def _plant(database: Database, home: Path, captured: io.StringIO) -> Planted:
    bench = await make_bench(with_keys(database, home / "secret.keys"), home)
    cookie, token = await sign_in(database), await make_token(database, Scope.ADMIN)
    slug = await _launch(bench)
    await bench.settle()
    bench.gateway.start(f"{slug}-a1")
    await bench.step()
    await _print_all(bench, slug)
    quoted = "\n".join(text for value in ALL.values() for text in printed(value))
    await bench.end_job(
        slug, JobStatus.FAILED, message=f"RuntimeError: {quoted}", driver_exit_code=1
    )
    assert (await bench.read(slug)).status is RunStatus.FAILED
    await _refuse(bench)
    async with database.write() as session:
        run = await runs.get(session, slug)
        _, shared = await sharing.create(session, run, actor=ADA, days=1)
        episode = await add_episode(session, run.project_id, said("right"))
        await add_rollouts(session, run, said("right", "up"))
        _, watched = await sharing.create(session, episode, actor=ADA, days=1)
        stream = await logs.find_stream(session, run, 1)
        assert stream is not None
    stored = b"".join([part async for part in logs.iter_bytes(database, stream.id)])
    logging.getLogger("x").info("failed with %s", ALL["P_PLAIN"])
    async with database.read() as session:
        user_id = str((await users.get_user_named(session, "admin")).id)
    code_id = await _upload(database, home)
    async with database.write() as session:
        sweep = await make_sweep(session, experiment=run.experiment)
        wish = Wish(name="far", address="http://ray.example:8265", credential="token")
        far = await registry.create(session, replace(wish, secret=ALL["S_PLAIN"]), actor=ADA)
        check = await registry.ask_check(session, far, actor=ADA)
        default = await projects.get(session, "default")
        evaluation = (await add_played(session, default, "a", "b")).slug
        await add_endpoint(session, "a")
        promotion = await make_promotion(session, run)
        adapter, checkpoint = promotion.adapter.slug, promotion.adapter.checkpoint.slug
    return Planted(
        home=home,
        file=Path(str(database.engine.url.database)),
        service_log=captured.getvalue(),
        urls={
            "/runs": {
                "slug": slug,
                "run_id": slug,
                "attempt": "1",
                "step": "7",
                "number": "1",
                "lane": "1",
                "turn": "1",
            },
            "/experiments": {
                "slug": run.experiment.slug,
                "experiment_id": run.experiment.slug,
                "experiment_name": quote(run.experiment.name),
                "version": "1",
            },
            "/projects": {"slug": "default", "project_id": "default", "name": "P_PLAIN"},
            "/clusters": {"slug": far.slug, "cluster_id": far.slug},
            "/checks": {"check_id": check.slug},
            "/endpoints": {"slug": "fake", "endpoint_id": "fake"},
            "/code": {"code_id": code_id},
            "/episodes": {"episode_id": episode.slug, "lane": "1", "turn": "1"},
            "/evaluations": {"slug": evaluation, "evaluation_id": evaluation},
            "/sweeps": {"slug": sweep.slug, "sweep_id": sweep.slug},
            "/checkpoints": {"slug": checkpoint, "checkpoint_id": checkpoint},
            "/promotions": {"slug": promotion.slug, "promotion_id": promotion.slug},
            "/adapters": {"slug": adapter, "adapter_id": adapter},
            "/recipes": {"name": "embedded-maze-grpo"},
            "/settings": {"name": "S_PLAIN", "user_id": user_id},
            "/shared": {"secret": shared},
            "/shared/{secret}/pictures": {"secret": watched, "lane": "1", "turn": "1"},
            "/playground": {"slug": episode.slug, "lane": "1", "turn": "1"},
        },
        cookie=cookie,
        token=token,
        stream=stored,
    )


async def _upload(database: Database, home: Path) -> str:
    async def sent() -> AsyncIterator[bytes]:
        yield zip_of({"train.py": "print(1)"})

    async with database.write() as session:
        project = await projects.ensure_default(session)
    async with received(sent(), home) as given:
        return (await code.add(database, project.id, given, name="x.zip", actor=ADA)).slug


async def _launch(bench: Bench) -> str:
    """A run that is given all secrets of its project."""
    async with bench.database.write() as session:
        project = await projects.ensure_default(session)
        for name, value in PROJECT.items():
            await secrets.put(session, project.id, name, value, actor=ADA)
        for name, value in SITE.items():
            await secrets.put(session, None, name, value, actor=ADA)
        experiment = await make_experiment(session, config={"job.secrets": ", ".join(PROJECT)})
        cluster = await ensure_embedded(session)
        cluster.shows_secrets, cluster.status = True, ClusterStatus.READY
        run = await runs.create(session, experiment, actor=ADA)
        run.due_at = run.created_at = bench.clock()
        slug = run.slug
    await bench.settle()
    given = bench.gateway.environments[f"{slug}-a1"]
    assert {name: given[name] for name in PROJECT} == PROJECT
    assert not given.keys() & SITE.keys()
    return slug


async def _print_all(bench: Bench, slug: str) -> None:
    """In pieces of any size, so that values are cut anywhere."""
    chance = random.Random(4)
    text = "".join(f"{line}\n" for value in ALL.values() for line in printed(value))
    text += "".join(
        f"{TRACKING}Step {step}: \n{{'reward/{value}': '0.5000',\n 'loss': '{step}.0'}}\n"
        f"{TRACKING.replace('tracking:log:120', 'trainer:run:88')}Started: '{value}'\n"
        f"{TRACKING.replace('tracking:log:120', 'trainer:run:88')}Dumped eval data for {value} "
        f"to exports/{value}/global_step_{step}_evals/x.jsonl\n"
        for step, value in enumerate(ALL.values(), start=1)
    )
    text += "".join(f"RuntimeError: {value}\n" for value in ALL.values())
    data = text.encode()
    while data:
        size = chance.choice((7, 100, 3_000, 40_000))
        bench.write_log(slug, data[:size])
        data = data[size:]
        await bench.step()


async def _refuse(bench: Bench) -> None:
    """Ray may quote a job's environment when it cannot set it up."""
    value = PROJECT["P_QUOTES"]
    bench.gateway.refusal = RayRefused(f"cannot set up {value}", detail=f"env_vars: {value!r}")
    await bench.add_run()
    await bench.step()
    bench.gateway.refusal = None


QUERIES = {
    "/runs/{slug}/chart": "?key=loss",
    "/runs/{slug}/points": "?key=loss",
    "/shared/{secret}/points": "?key=loss",
    "/api/v1/series": "?run={slug}&key=loss",
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
        url += query.format(slug=slug, experiment=home["slug"], name=home["experiment_name"])
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
