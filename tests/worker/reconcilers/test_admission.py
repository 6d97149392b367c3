"""A sweep's cap on runs under way, and who may pass those that it holds back."""

import asyncio
from datetime import timedelta
from typing import Any

from app.db import Database
from app.models import RunStatus
from app.ray.gateway import JobStatus
from app.sweeps import service as sweeps
from tests.factories import ADA, make_run
from tests.sweeps.factories import make_sweep
from tests.worker.reconcilers.conftest import Bench
from worker.reconciler import Loop
from worker.reconcilers.attempts import AttemptsReconciler
from worker.reconcilers.job_code import Packages
from worker.reconcilers.job_tracking import Addresses

BUSY = (RunStatus.SUBMITTING, RunStatus.PENDING, RunStatus.RUNNING, RunStatus.STOPPING)


async def statuses(bench: Bench, slugs: list[str]) -> list[RunStatus]:
    return [(await bench.read(slug)).status for slug in slugs]


async def add_sweep(bench: Bench, *, runs: int, limit: int) -> tuple[list[str], str]:
    """Slugs of a sweep's runs, and of a run made after it, on a cluster with room for five."""
    async with bench.database.write() as session:
        sweep = await make_sweep(session, runs=runs, max_running_runs=limit)
        found = await sweeps.list_runs(session, sweep)
        other = await make_run(session)
        assert found[0].cluster is not None
        found[0].cluster.max_running_runs = 5
        for run in (*found, other):
            run.due_at = bench.clock()
        return [run.slug for run in found], other.slug


async def test_no_more_runs_of_a_sweep_than_it_allows(bench: Bench) -> None:
    slugs, other = await add_sweep(bench, runs=4, limit=2)
    await bench.settle()
    await bench.step(5)
    queued, pending = RunStatus.QUEUED, RunStatus.PENDING
    assert await statuses(bench, slugs) == [pending, pending, queued, queued]
    assert (await bench.read(slugs[2])).status_reason == (
        "waits for other runs of its sweep, which runs 2 at a time"
    )
    # It was made later, and need not wait for runs that may not start.
    assert (await bench.read(other)).status is pending
    bench.gateway.start(f"{slugs[0]}-a1")
    await bench.end_job(slugs[0], JobStatus.SUCCEEDED)
    await bench.step(5)
    assert await statuses(bench, slugs) == [RunStatus.SUCCEEDED, pending, pending, queued]


async def test_two_workers_together_start_no_more_than_the_sweep_allows(
    bench: Bench, database_url: str
) -> None:
    slugs, other = await add_sweep(bench, runs=6, limit=2)
    elsewhere = Database(database_url)
    second = second_worker(bench, elsewhere)
    try:
        most = 0
        for _ in range(24):
            await asyncio.gather(bench.attempts.turn(), second.turn(), bench.logs.turn())
            found = await statuses(bench, slugs)
            under_way = [slug for slug, status in zip(slugs, found, strict=True) if status in BUSY]
            most = max(most, len(under_way))
            assert len(under_way) <= 2
            if bench.gateway.submitted and under_way:
                finish(bench, under_way[0])
            bench.clock.advance(5)
    finally:
        await elsewhere.close()
    assert most == 2
    assert await statuses(bench, slugs) == [RunStatus.SUCCEEDED] * 6
    jobs = [job for job in bench.gateway.submitted if job.startswith(tuple(slugs))]
    assert sorted(jobs) == sorted(f"{slug}-a1" for slug in slugs)
    assert (await bench.read(other)).status is not RunStatus.QUEUED


def second_worker(bench: Bench, database: Database) -> Loop[Any, Any]:
    """Another worker's loop over the same runs, with connections of its own."""
    packages = Packages(database, bench.home)
    reconciler = AttemptsReconciler(
        bench.gateway,
        packages,
        addresses=Addresses(bench.home, None),
        runs_dir=bench.home / "runs",
        poll=timedelta(seconds=1),
    )
    return Loop(database, reconciler, lease_seconds=15, clock=bench.clock)


def finish(bench: Bench, slug: str) -> None:
    """Its job ends, if it is known to the cluster by now."""
    if f"{slug}-a1" in bench.gateway.submitted:
        bench.gateway.finish(f"{slug}-a1", JobStatus.SUCCEEDED)


async def test_a_sweep_that_is_stopped_starts_nothing_more(bench: Bench) -> None:
    slugs, _ = await add_sweep(bench, runs=3, limit=1)
    await bench.settle()
    bench.gateway.start(f"{slugs[0]}-a1")
    await bench.step()
    async with bench.database.write() as session:
        run = await bench.read(slugs[0])
        assert run.sweep is not None
        assert await sweeps.stop(session, run.sweep, actor=ADA) == 3
    await bench.step(5)
    found = await statuses(bench, slugs)
    assert found[1:] == [RunStatus.STOPPED] * 2
    assert found[0] is RunStatus.STOPPING
    assert len([job for job in bench.gateway.submitted if job.startswith(tuple(slugs))]) == 1
