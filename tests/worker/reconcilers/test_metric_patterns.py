"""A command's own metric patterns, from its frozen config to the stored series."""

import math

import pytest
from sqlalchemy import select

from app.clusters import service as clusters
from app.experiments import service as experiments
from app.logs.parsers import pattern_reader
from app.metrics import service as metrics
from app.models import Config, Event, RunStatus
from app.projects import service as projects
from app.ray.gateway import JobStatus
from app.runs import service as runs
from tests.factories import ADA
from tests.worker.reconcilers.conftest import POLL, Bench
from worker.reconciler import Loop
from worker.reconcilers.logs import LogsReconciler, Subject, Turn

PAIRS = r"(?P<key>[\w/]+)=(?P<value>\S+)"
STEP = r"step (?P<step>\d+)"
LOSS = r"loss (?P<loss>\S+)"


async def start(bench: Bench, *patterns: str) -> str:
    """A run of `command` whose job runs; returns its slug."""
    config = {"job.entrypoint": "python train.py", "job.metric_patterns": list(patterns)}
    async with bench.database.write() as session:
        cluster = await clusters.get(session, "embedded")
        if not cluster.runs_member_code:
            await clusters.set_consents(session, cluster, actor=ADA, runs_member_code=True)
        project = await projects.ensure_default(session)
        experiment = await experiments.create(
            session, project=project, name="mine", recipe="command", config=config, actor=ADA
        )
        run = await runs.create(session, experiment, actor=ADA)
        run.due_at = run.created_at = bench.clock()
    await bench.settle()
    bench.gateway.start(f"{run.slug}-a1")
    await bench.step()
    return run.slug


async def series(bench: Bench, slug: str, key: str) -> list[tuple[int, float]]:
    async with bench.database.read() as session:
        run = await runs.get(session, slug)
        views = await metrics.read_series(session, [run], [key])
    columns = [view.columns for view in views]
    return [
        (int(step), float(value))
        for part in columns
        for step, value in zip(part.steps, part.values, strict=True)
    ]


async def test_what_a_command_prints_becomes_series(bench: Bench) -> None:
    slug = await start(bench, PAIRS)
    log = "step=1 loss=1.5e-3 acc=12% n=1,234\n(main pid=7) step=2 \x1b[1mloss=inf\x1b[0m\n"
    bench.write_log(slug, log.encode())
    await bench.step()
    assert await series(bench, slug, "loss") == [(1, 0.0015), (2, math.inf)]
    assert await series(bench, slug, "acc") == [(1, 12.0)]
    assert await series(bench, slug, "n") == [(1, 1234.0)]
    run = await bench.read(slug)
    assert (run.step, run.progress_at, run.conditions) == (2, bench.clock(), [])
    await bench.end_job(slug, JobStatus.SUCCEEDED)
    assert (await bench.read(slug)).status is RunStatus.SUCCEEDED


async def test_a_log_without_steps_shows_how_far_it_is(bench: Bench) -> None:
    slug = await start(bench, LOSS, r"eval (?P<eval>\S+)")
    bench.write_log(slug, b"loss 3\nloss 2\neval 9\nloss nan\n")
    await bench.step()
    steps, values = zip(*await series(bench, slug, "loss"), strict=True)
    assert steps == (1, 2, 3)
    assert values[:2] == (3.0, 2.0)
    assert math.isnan(values[2])
    bench.write_log(slug, b"eval 8\n")
    await bench.step()
    assert await series(bench, slug, "eval") == [(1, 9.0), (2, 8.0)]
    assert (await bench.read(slug)).step == 3


async def test_no_kill_counts_a_line_twice_or_not_at_all(bench: Bench) -> None:
    """Each turn is of a few bytes by a new worker, and each is first done in vain."""
    slug = await start(bench, LOSS)
    bench.write_log(slug, b"loss 1\nloss 2\nnoise\nloss 3")
    small = LogsReconciler(
        bench.gateway, home=bench.home, runs_dir=bench.home / "runs", poll=POLL, turn_bytes=5
    )
    loop = Loop(bench.database, small, lease_seconds=15, clock=bench.clock)
    bench.clock.advance(1)
    stream = await bench.stream(slug)
    for _ in range(10):
        async with bench.database.read() as session:
            subject = await small.load(session, stream.id)
        turn = await small.observe(subject)
        with pytest.raises(ConnectionError):
            await store_and_fail(bench, small, subject, turn)
        await loop.turn()
    await bench.end_job(slug, JobStatus.SUCCEEDED)
    assert await series(bench, slug, "loss") == [(1, 1.0), (2, 2.0), (3, 3.0)]


async def store_and_fail(
    bench: Bench, reconciler: LogsReconciler, subject: Subject, turn: Turn
) -> None:
    async with bench.database.write() as session:
        await reconciler.apply(session, subject, turn, now=bench.clock())
        await session.flush()
        raise ConnectionError


async def test_the_next_attempt_starts_anew_and_hides_what_it_repeats(bench: Bench) -> None:
    slug = await start(bench, STEP, LOSS)
    bench.write_log(slug, b"step 1 loss 5\nstep 2 loss 4\nstep 3 loss 3\n")
    await bench.step()
    await bench.end_job(slug, JobStatus.FAILED, driver_exit_code=-9)
    await bench.change(slug, runs.request_resume)
    await bench.settle()
    bench.write_log(slug, b"step 2\nloss 2\n", number=2)
    bench.gateway.start(f"{slug}-a2")
    await bench.step()
    await bench.step()
    assert await series(bench, slug, "loss") == [(1, 5.0), (2, 2.0)]


async def test_only_the_frozen_config_decides(bench: Bench) -> None:
    slug = await start(bench, LOSS)
    bench.write_log(slug, b"loss 1 other=2\n")
    await bench.end_job(slug, JobStatus.SUCCEEDED)
    quiet = await start(bench)
    bench.write_log(quiet, b"loss 1 other=2\n")
    await bench.end_job(quiet, JobStatus.SUCCEEDED)
    assert await series(bench, slug, "loss") == [(1, 1.0)]
    assert await series(bench, slug, "other") == []
    assert await series(bench, quiet, "loss") == []


async def test_slow_patterns_are_told_and_the_log_goes_on(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pattern_reader, "MAX_SECONDS", -1.0)
    slug = await start(bench, LOSS)
    bench.write_log(slug, b"loss 1\n")
    await bench.step()
    bench.write_log(slug, b"loss 2\n")
    await bench.step()
    run = await bench.read(slug)
    [condition] = run.conditions
    assert condition["kind"] == "metrics_incomplete"
    assert "turned off for this attempt" in condition["message"]
    assert (await bench.stream(slug)).n_lines == 2
    assert await series(bench, slug, "loss") == []
    async with bench.database.read() as session:
        query = select(Event.message).where(Event.run_id == run.id, Event.kind == condition["kind"])
        assert list(await session.scalars(query)) == [condition["message"]]
    await bench.end_job(slug, JobStatus.FAILED)
    await bench.change(slug, runs.request_resume)
    await bench.settle()
    assert (await bench.read(slug)).conditions == []


async def test_a_stored_pattern_that_cannot_be_used_holds_nothing_up(bench: Bench) -> None:
    slug = await start(bench, LOSS)
    async with bench.database.write() as session:
        run = await runs.get(session, slug)
        config = await session.get_one(Config, run.config_id)
        config.values = config.values | {"job.metric_patterns": ["(", LOSS]}
    bench.write_log(slug, b"loss 1\n")
    await bench.step()
    assert await series(bench, slug, "loss") == [(1, 1.0)]
    [condition] = (await bench.read(slug)).conditions
    assert "missing )" in condition["message"]
