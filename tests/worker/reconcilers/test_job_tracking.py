"""A job is told where it logs to, by a token of its attempt that nobody else can use or keep."""

import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from app.clusters import service as clusters
from app.db import Database
from app.ids import hashed
from app.logs import service as logs
from app.models import ApiToken, ClusterKind, RunStatus
from app.projects import service as projects
from app.ray.errors import RayUnreachable
from app.ray.gateway import JobStatus
from app.runs import service as runs
from app.secrets import service as secrets
from app.settings import UP_FILE
from app.users import service as users
from tests.factories import ADA, make_experiment
from tests.secrets.conftest import with_keys
from tests.worker.reconcilers.conftest import Bench, make_bench
from worker.reconcilers.job_tracking import Addresses, environment

URL = "http://127.0.0.1:8123"
NAMES = ("MLFLOW_TRACKING_TOKEN", "MLFLOW_TRACKING_URI", "SKYDECK_PUBLIC_URL", "SKYDECK_RUN_TOKEN")


@pytest.fixture
async def bench(sqlite_database: Database, tmp_path: Path) -> Bench:
    home = tmp_path / "home"
    home.mkdir()
    (home / UP_FILE).write_text(json.dumps({"url": URL, "pid": 1}))
    return await make_bench(with_keys(sqlite_database, home / "secret.keys"), home)


def given(bench: Bench, slug: str, number: int = 1) -> dict[str, str]:
    found = bench.gateway.environments[f"{slug}-a{number}"]
    return {name: value for name, value in found.items() if name in NAMES}


async def tokens(bench: Bench) -> list[ApiToken]:
    async with bench.database.read() as session:
        return list(await session.scalars(select(ApiToken).where(ApiToken.run_id.is_not(None))))


async def opens(bench: Bench, secret: str) -> bool:
    async with bench.database.read() as session:
        return await users.find_token(session, secret) is not None


async def test_a_job_is_told_its_address_and_a_token_of_its_attempt(bench: Bench) -> None:
    slug = await bench.start_run()
    found = given(bench, slug)
    assert sorted(found) == sorted(NAMES)
    assert found["MLFLOW_TRACKING_URI"] == found["SKYDECK_PUBLIC_URL"] == URL
    assert found["MLFLOW_TRACKING_TOKEN"] == found["SKYDECK_RUN_TOKEN"]
    run = await bench.read(slug)
    (token,) = await tokens(bench)
    assert (token.run_id, token.attempt_number, token.project_id) == (run.id, 1, run.project_id)
    # The secret itself is nowhere in the row.
    assert token.secret_hash == hashed(found["SKYDECK_RUN_TOKEN"])
    assert await opens(bench, found["SKYDECK_RUN_TOKEN"])


async def test_the_token_ends_with_the_attempt_and_leaves_no_row(bench: Bench) -> None:
    slug = await bench.start_run()
    secret = given(bench, slug)["SKYDECK_RUN_TOKEN"]
    bench.gateway.finish(f"{slug}-a1", JobStatus.SUCCEEDED)
    await bench.step()
    assert not await opens(bench, secret)
    for _ in range(4):
        await bench.step()
    assert (await bench.read(slug)).status is RunStatus.SUCCEEDED
    assert await tokens(bench) == []


async def test_a_resumed_run_has_a_new_one(bench: Bench) -> None:
    slug = await bench.start_run()
    await bench.end_job(slug, JobStatus.FAILED, message="gone")
    await bench.change(slug, runs.request_resume)
    await bench.step()
    first, second = given(bench, slug)["SKYDECK_RUN_TOKEN"], given(bench, slug, 2)
    assert second["SKYDECK_RUN_TOKEN"] != first
    assert not await opens(bench, first)
    assert await opens(bench, second["SKYDECK_RUN_TOKEN"])


async def test_every_try_to_submit_hands_out_the_same_token(bench: Bench) -> None:
    """As after a kill between the commit and the submit, or in the middle of that."""
    slug = await bench.add_run()
    bench.gateway.trouble = RayUnreachable("embedded", "it hangs")
    await bench.settle()
    (before,) = await tokens(bench)
    await bench.step()
    bench.gateway.trouble = None
    await bench.step()
    (after,) = await tokens(bench)
    assert (
        before.secret_hash == after.secret_hash == hashed(given(bench, slug)["SKYDECK_RUN_TOKEN"])
    )
    assert bench.gateway.submitted == [f"{slug}-a1"]


async def test_a_job_that_was_submitted_by_a_worker_that_died_keeps_a_token_that_holds(
    bench: Bench,
) -> None:
    slug = await bench.add_run()
    # Admitted; then another worker submits, and dies before it can say so.
    await bench.attempts.turn()
    reconciler: Any = bench.attempts._reconciler
    async with bench.database.read() as session:
        run = await runs.get(session, slug)
        subject = await reconciler.load(session, run.id)
    await reconciler.observe(subject)
    await bench.step()
    assert bench.gateway.submitted == [f"{slug}-a1"]
    assert await opens(bench, given(bench, slug)["SKYDECK_RUN_TOKEN"])
    assert len(await tokens(bench)) == 1


@pytest.mark.parametrize("lost", [UP_FILE, "secret.keys"])
async def test_without_an_address_or_a_key_nothing_is_handed_out(bench: Bench, lost: str) -> None:
    (bench.home / lost).unlink()
    slug = await bench.start_run()
    assert given(bench, slug) == {}
    assert await tokens(bench) == []


async def test_a_token_that_is_printed_is_masked_in_the_stored_log(bench: Bench) -> None:
    slug = await bench.start_run()
    secret = given(bench, slug)["SKYDECK_RUN_TOKEN"]
    bench.write_log(slug, f"MLFLOW_TRACKING_TOKEN={secret}\n".encode())
    await bench.end_job(slug, JobStatus.FAILED, message=f"exit 1: token {secret}")
    stream = await bench.stream(slug)
    stored = b"".join([part async for part in logs.iter_bytes(bench.database, stream.id)])
    assert stored == b"MLFLOW_TRACKING_TOKEN=***SKYDECK_RUN_TOKEN***\n"
    failure = (await bench.attempt(slug)).failure
    assert secret not in str(failure)


def test_a_job_with_an_mlflow_server_of_its_own_is_not_sent_to_ours() -> None:
    found = environment(URL, "sky_secret", taken=["MLFLOW_TRACKING_URI"])
    assert found == {"SKYDECK_PUBLIC_URL": URL, "SKYDECK_RUN_TOKEN": "sky_secret"}


async def test_a_secret_of_the_name_of_mlflows_token_is_not_put_aside(bench: Bench) -> None:
    async with bench.database.write() as session:
        project = await projects.ensure_default(session)
        await secrets.put(session, project.id, "MLFLOW_TRACKING_TOKEN", "of-my-own", actor=ADA)
        cluster = await clusters.get(session, "embedded")
        await clusters.set_consents(session, cluster, shows_secrets=True, actor=ADA)
        config = {"job.secrets": "MLFLOW_TRACKING_TOKEN"}
        experiment = await make_experiment(session, config=config)
        run = await runs.create(session, experiment, actor=ADA)
        run.due_at = run.created_at = bench.clock()
        slug = run.slug
    await bench.settle()
    found = given(bench, slug)
    assert found["MLFLOW_TRACKING_TOKEN"] == "of-my-own"
    assert "MLFLOW_TRACKING_URI" not in found
    assert await opens(bench, found["SKYDECK_RUN_TOKEN"])


@pytest.mark.parametrize("text", [None, "", "[]", "{}", '{"url'])
def test_addresses_of_jobs(tmp_path: Path, text: str | None) -> None:
    addresses = Addresses(tmp_path, "https://sky.example")
    if text is not None:
        (tmp_path / UP_FILE).write_text(text)
    assert addresses.of(ClusterKind.EMBEDDED) == "https://sky.example"
    (tmp_path / UP_FILE).write_text(json.dumps({"url": URL}))
    assert addresses.of(ClusterKind.EMBEDDED) == URL
    assert addresses.of(ClusterKind.HTTP) == "https://sky.example"
    assert Addresses(tmp_path, None).of(ClusterKind.HYPERPOD) is None
