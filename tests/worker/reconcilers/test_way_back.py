"""A check says whether jobs of the cluster reach Skydeck, and what to do where they do not."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.api.site import PREFIX as V1
from app.clusters import registry
from app.clusters import service as clusters
from app.db import Database
from app.main import create_app
from app.models import ClusterCheck, ClusterKind
from app.ray.errors import RayRefused
from app.ray.gateway import JobStatus
from app.settings import UP_FILE, load_settings
from tests.factories import ADA
from tests.fakes.connector import connector
from tests.secrets.conftest import with_keys
from tests.worker.reconcilers.conftest import Bench, make_bench
from worker.jobs.probe import Way
from worker.reconciler import Loop
from worker.reconcilers.checks import ChecksReconciler
from worker.reconcilers.job_tracking import Addresses
from worker.reconcilers.way_back import START_SECONDS, Question, WayBack

URL = "http://127.0.0.1:8123"
CHECK = "check-7fk2m9qd"
JOB = f"skydeck-probe-{CHECK}"
EMBEDDED = ClusterKind.EMBEDDED


@pytest.fixture
async def bench(sqlite_database: Database, tmp_path: Path) -> Bench:
    home = tmp_path / "home"
    home.mkdir()
    (home / UP_FILE).write_text(json.dumps({"url": URL, "pid": 1}))
    return await make_bench(with_keys(sqlite_database, home / "secret.keys"), home)


def way_back(bench: Bench, then: Callable[[], None] = lambda: None) -> WayBack:
    """`then` is what happens while the job is waited for."""

    async def sleep(_seconds: float) -> None:
        then()

    return WayBack(Addresses(bench.home, None), sleep=sleep)


def ends(bench: Bench, status: JobStatus, **fields: Any) -> Callable[[], None]:
    return lambda: bench.gateway.finish(JOB, status, **fields)


async def test_a_job_there_that_succeeds_opens_the_way(bench: Bench) -> None:
    looked = way_back(bench, ends(bench, JobStatus.SUCCEEDED, driver_exit_code=0))
    found = await looked.look(bench.gateway, Question(CHECK, EMBEDDED, "the proof"))
    assert (found.name, found.ok) == ("way_back", True)
    assert found.message == f"Jobs here reach Skydeck at {URL}."
    given = bench.gateway.environments[JOB]
    assert given == {
        "SKYDECK_PROBE_URL": URL,
        "SKYDECK_PROBE_CHECK": CHECK,
        "SKYDECK_PROBE_PROOF": "the proof",
    }
    # It leaves nothing behind.
    assert bench.gateway.jobs == {}


@pytest.mark.parametrize("way", [way for way in Way if way is not Way.OPEN])
async def test_what_stands_in_the_way_is_said_with_what_to_do(bench: Bench, way: Way) -> None:
    message = f"Job entrypoint command failed with exit code {way:d}:\nprobe: OSError: <b>no</b>\n"
    job = ends(bench, JobStatus.FAILED, driver_exit_code=int(way), message=message)
    question = Question(CHECK, EMBEDDED, "the proof")
    found = await way_back(bench, job).look(bench.gateway, question)
    assert not found.ok
    assert "127.0.0.1:8123" in found.message
    assert found.message.endswith("(OSError: <b>no</b>)")


async def test_a_job_that_cannot_run_at_all(bench: Bench) -> None:
    question = Question(CHECK, EMBEDDED, "the proof")
    broken = ends(bench, JobStatus.FAILED, driver_exit_code=127, message="python: not found")
    found = await way_back(bench, broken).look(bench.gateway, question)
    assert "could not do so: python: not found" in found.message
    bench.gateway.refusal = RayRefused("no more jobs today")
    found = await way_back(bench).look(bench.gateway, question)
    assert not found.ok
    assert "could not be run" in found.message


async def test_a_cluster_that_starts_nothing_is_not_waited_for_without_end(bench: Bench) -> None:
    seconds = 0.0

    async def sleep(pause: float) -> None:
        nonlocal seconds
        seconds += pause

    looked = WayBack(Addresses(bench.home, None), sleep=sleep)
    found = await looked.look(bench.gateway, Question(CHECK, EMBEDDED, "the proof"))
    assert not found.ok
    assert "is pending after 90 s" in found.message
    assert seconds == START_SECONDS


async def test_without_an_address_or_a_key_nothing_is_started(bench: Bench) -> None:
    found = await way_back(bench).look(bench.gateway, Question(CHECK, ClusterKind.HTTP, "p"))
    assert found.ok
    assert "SKYDECK_PUBLIC_URL is not set" in found.message
    found = await way_back(bench).look(bench.gateway, Question(CHECK, EMBEDDED, None))
    assert not found.ok
    assert bench.gateway.submitted == []


async def test_a_check_notes_what_it_found_and_the_next_look_keeps_it(bench: Bench) -> None:
    assert await _checked(bench, Way.REFUSED) is False
    bench.gateway.jobs.clear()
    assert await _checked(bench, Way.OPEN) is True


async def _checked(bench: Bench, way: Way) -> bool | None:
    async with bench.database.write() as session:
        cluster = await clusters.get(session, "embedded")
        check = await registry.ask_check(session, cluster, actor=ADA)
    status = JobStatus.FAILED if way else JobStatus.SUCCEEDED

    def then() -> None:
        job = f"skydeck-probe-{check.slug}"
        bench.gateway.finish(job, status, driver_exit_code=int(way))

    reconciler = ChecksReconciler(bench.gateway, connector(), way_back(bench, then))
    assert await Loop(bench.database, reconciler, lease_seconds=30).turn() == 1
    await bench.step(60)
    async with bench.database.read() as reading:
        done = await reading.get_one(ClusterCheck, check.id)
        assert done.findings[-1]["ok"] is (way is Way.OPEN)
        cluster = await clusters.get(reading, "embedded")
        assert cluster.observed_at == bench.clock()
        return clusters.has_way_back(cluster)


@pytest.fixture
def ask(bench: Bench) -> Callable[..., Awaitable[httpx.Response]]:
    app = create_app(load_settings(home=bench.home), bench.database)

    async def call(**headers: str) -> httpx.Response:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url=URL) as client:
            return await client.get(f"{V1}/probe", headers=headers)

    return call


async def test_the_web_gives_the_proof_that_the_worker_expects(
    bench: Bench, ask: Callable[..., Awaitable[httpx.Response]]
) -> None:
    async with bench.database.read() as session:
        proof = registry.proof_of(session, CHECK)
        other = registry.proof_of(session, "check-other")
    answer = await ask(Authorization=f"Bearer {CHECK}")
    assert answer.json() == {"proof": proof}
    assert proof != other
    assert (await ask()).status_code == 401
    assert (await ask(Authorization="Bearer token of attempt 1")).status_code == 401
    (bench.home / "secret.keys").unlink()
    assert (await ask(Authorization=f"Bearer {CHECK}")).status_code == 503
