"""A sweep's cap on runs under way, and who may pass those that it holds back."""

from app.models import RunStatus
from app.ray.gateway import JobStatus
from app.sweeps import service as sweeps
from tests.factories import ADA, make_run
from tests.sweeps.factories import make_sweep
from tests.worker.reconcilers.conftest import Bench


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
