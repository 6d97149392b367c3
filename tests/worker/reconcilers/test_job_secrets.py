"""A job is given the secrets it names, where that is allowed, and nothing stored has them."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from app.clusters import service as clusters
from app.clusters.embedded_policy import Decision
from app.db import Database
from app.logs import service as logs
from app.models import Event, RunStatus, Secret
from app.projects import service as projects
from app.ray.gateway import JobStatus
from app.recipes import service as recipes
from app.runs import service as runs
from app.secrets import service
from tests.factories import ADA, make_experiment
from tests.secrets.conftest import with_keys
from tests.worker.reconcilers.conftest import Bench, make_bench
from worker.reconcilers.attempts import SUBMIT_PATIENCE

VALUE = "hf_Zx81kkLmPq"
OTHER = "of another name"


@pytest.fixture
async def bench(sqlite_database: Database, tmp_path: Path) -> Bench:
    home = tmp_path / "home"
    made = await make_bench(with_keys(sqlite_database, home / "secret.keys"), home)
    async with made.database.write() as session:
        project = await projects.ensure_default(session)
        await service.put(session, project.id, "HF_TOKEN", VALUE, actor=ADA)
        await service.put(session, project.id, "OTHER", OTHER, actor=ADA)
    await allow(made, shows_secrets=True)
    return made


async def allow(bench: Bench, **consents: bool) -> None:
    async with bench.database.write() as session:
        cluster = await clusters.get(session, "embedded")
        await clusters.set_consents(session, cluster, actor=ADA, **consents)


async def queue(bench: Bench, names: str = "HF_TOKEN") -> str:
    async with bench.database.write() as session:
        experiment = await make_experiment(session, config={"job.secrets": names})
        run = await runs.create(session, experiment, actor=ADA)
        run.due_at = run.created_at = bench.clock()
        return run.slug


async def test_a_job_gets_the_secrets_it_names_and_no_others(bench: Bench) -> None:
    slug = await queue(bench)
    await bench.settle()
    given = bench.gateway.environments[f"{slug}-a1"]
    assert given["HF_TOKEN"] == VALUE
    assert "OTHER" not in given
    job = bench.gateway.jobs[f"{slug}-a1"]
    script = (bench.home / "runs" / slug / "train_job.sh").read_text()
    assert VALUE not in f"{job.entrypoint} {job.metadata} {script}"
    async with bench.database.read() as session:
        used = await session.scalar(select(Secret.last_used_at).where(Secret.name == "HF_TOKEN"))
        assert used == bench.clock()
        unused = await session.scalar(select(Secret.last_used_at).where(Secret.name == "OTHER"))
        assert unused is None


async def test_without_the_consent_at_the_submit_the_run_fails_and_says_what_to_do(
    bench: Bench,
) -> None:
    slug = await queue(bench)
    await allow(bench, shows_secrets=False)
    await bench.settle()
    run = await bench.read(slug)
    assert run.status is RunStatus.FAILED
    assert "ask an administrator" in run.status_reason
    assert bench.gateway.submitted == []


async def test_a_consent_that_is_taken_back_in_the_middle_of_a_submit_counts(bench: Bench) -> None:
    slug = await queue(bench)
    # Admitted, and not yet submitted.
    await bench.attempts.turn()
    await allow(bench, shows_secrets=False)
    for _ in range(4):
        await bench.step()
    attempt = await bench.attempt(slug)
    assert attempt.failure is not None
    assert attempt.failure["class"] == "not_allowed"
    assert bench.gateway.submitted == []


async def test_a_secret_that_is_gone_is_named(bench: Bench) -> None:
    slug = await queue(bench, "HF_TOKEN, OTHER")
    async with bench.database.write() as session:
        project = await projects.ensure_default(session)
        await service.delete(session, project.id, "OTHER", actor=ADA)
    for _ in range(4):
        await bench.step()
    attempt = await bench.attempt(slug)
    assert attempt.failure is not None
    assert "no secret OTHER any more" in attempt.failure["message"]
    await put_back(bench)
    await bench.change(slug, runs.request_resume)
    await bench.step()
    assert bench.gateway.environments[f"{slug}-a2"]["OTHER"] == OTHER


async def put_back(bench: Bench) -> None:
    async with bench.database.write() as session:
        project = await projects.ensure_default(session)
        await service.put(session, project.id, "OTHER", OTHER, actor=ADA)


async def test_a_missing_key_fails_the_run_in_the_end_and_submits_nothing(bench: Bench) -> None:
    slug = await queue(bench)
    async with bench.database.write() as session:
        await session.execute(Secret.__table__.update().values(key_id="f" * 16))  # type: ignore[attr-defined]
    # What cannot be masked is not looked at, so the run waits for an administrator.
    await bench.step(SUBMIT_PATIENCE.total_seconds() + 1)
    assert bench.gateway.submitted == []
    assert (await bench.read(slug)).status in (RunStatus.QUEUED, RunStatus.SUBMITTING)


async def test_rays_own_words_are_masked(bench: Bench) -> None:
    slug = await queue(bench)
    await bench.settle()
    message = f"failed to set up runtime_env env_vars={{'HF_TOKEN': '{VALUE}'}}"
    bench.gateway.finish(f"{slug}-a1", JobStatus.FAILED, message=message, error_type=f"E {VALUE}")
    for _ in range(70):
        await bench.step()
    run = await bench.read(slug)
    assert run.status is RunStatus.FAILED
    assert "***HF_TOKEN***" in str(run.attempts[0].failure)
    async with bench.database.read() as session:
        events = [event.message for event in await session.scalars(select(Event))]
    assert VALUE not in f"{run.attempts[0].failure} {run.status_reason} {events}"


async def test_a_value_that_is_cut_by_two_looks_is_masked(bench: Bench) -> None:
    slug = await queue(bench)
    await bench.settle()
    bench.gateway.start(f"{slug}-a1")
    text = f"token {VALUE} ok\n".encode()
    for at in range(len(text)):
        bench.write_log(slug, text[at : at + 1])
        await bench.step()
    stream = await bench.stream(slug)
    assert (stream.read_bytes, stream.n_bytes) == (len(text), len("token ***HF_TOKEN*** ok\n"))
    assert await stored(bench, stream.id) == b"token ***HF_TOKEN*** ok\n"


async def test_what_only_begins_like_a_value_is_stored_when_the_job_ended(bench: Bench) -> None:
    slug = await queue(bench)
    await bench.settle()
    bench.gateway.start(f"{slug}-a1")
    text = f"last words {VALUE[:-1]}".encode()
    bench.write_log(slug, text)
    await bench.step()
    assert await stored(bench, (await bench.stream(slug)).id) == b"last words "
    await bench.end_job(slug, JobStatus.SUCCEEDED)
    stream = await bench.stream(slug)
    assert stream.is_complete
    assert await stored(bench, stream.id) == text
    await bench.step()
    assert (await bench.read(slug)).status is RunStatus.SUCCEEDED


async def test_a_job_that_prints_nothing_but_its_secret_does_not_stop_its_log(
    bench: Bench,
) -> None:
    async with bench.database.write() as session:
        project = await projects.ensure_default(session)
        await service.put(session, project.id, "RING", "abcdefgh", actor=ADA)
    slug = await queue(bench)
    await bench.settle()
    bench.gateway.start(f"{slug}-a1")
    text = b"abcdefgh" * 300_000
    bench.write_log(slug, text)
    await bench.step()
    assert (await bench.stream(slug)).read_bytes > len(text) / 2
    await bench.end_job(slug, JobStatus.SUCCEEDED)
    stream = await bench.stream(slug)
    assert (stream.read_bytes, stream.is_complete) == (len(text), True)
    assert b"abcdefgh" not in await stored(bench, stream.id)


async def test_while_the_embedded_cluster_is_off_runs_wait_and_say_why(bench: Bench) -> None:
    slug = await queue(bench)
    off = Decision(is_on=False, why="a team shares this database")
    async with bench.database.write() as session:
        await clusters.decide_embedded(session, off)
    await bench.step()
    run = await bench.read(slug)
    assert run.status is RunStatus.QUEUED
    assert "a team shares this database" in run.status_reason
    async with bench.database.write() as session:
        cluster = await clusters.decide_embedded(session, Decision(is_on=True, why=""))
        cluster.due_at = bench.clock()
    await bench.step(6)
    assert (await bench.read(slug)).status is not RunStatus.QUEUED


async def test_member_code_is_refused_again_where_the_worker_admits(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    slug = await queue(bench)
    monkeypatch.setattr(recipes, "get", _no_longer_builtin(recipes.get))
    await bench.step()
    run = await bench.read(slug)
    assert run.status is RunStatus.FAILED
    assert "takes built-in recipes only" in run.status_reason
    await allow(bench, runs_member_code=True)
    await bench.change(slug, runs.request_resume)
    await bench.step()
    assert bench.gateway.submitted == [f"{slug}-a1"]


def _no_longer_builtin(real: Any) -> Any:
    from dataclasses import replace

    return lambda name: replace(real(name), is_builtin_code=False)


async def stored(bench: Bench, stream_id: Any) -> bytes:
    return b"".join([part async for part in logs.iter_bytes(bench.database, stream_id)])
