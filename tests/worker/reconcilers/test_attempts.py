"""The life of a run against a cluster that keeps Ray's contract."""

import errno
from collections.abc import Callable
from datetime import timedelta

import pytest

from app.errors import NotFound
from app.models import AttemptStatus, ClusterStatus, RunStatus
from app.ray.errors import RayRefused, RayUnreachable
from app.ray.gateway import JobStatus
from app.ray.head_state import HeadPhase
from app.runs import service as runs
from tests.worker.reconcilers.conftest import Bench
from worker.reconcilers.attempts import SUBMIT_PATIENCE
from worker.reconcilers.clusters import STEADY_POLLS
from worker.reconcilers.job import Job
from worker.reconcilers.logs import LOG_WAIT

UNREACHABLE = RayUnreachable("http://127.0.0.1:1", "ConnectError")


async def test_a_run_goes_from_the_queue_to_success(bench: Bench) -> None:
    slug = await bench.start_run()
    run = await bench.read(slug)
    assert run.status is RunStatus.RUNNING
    assert run.started_at == bench.clock()
    await bench.end_job(slug, JobStatus.SUCCEEDED, driver_exit_code=0)
    assert await bench.moves(slug) == ["queued", "submitting", "pending", "running", "succeeded"]
    assert await bench.moves(slug, "attempt_status") == [
        "submitting",
        "pending",
        "running",
        "succeeded",
    ]
    run = await bench.read(slug)
    assert (run.due_at, run.attempts[0].exit_code) == (None, 0)


async def test_the_job_gets_its_folder_and_script_and_no_secret(bench: Bench) -> None:
    slug = await bench.start_run()
    submission_id = f"{slug}-a1"
    folder = bench.home / "runs" / slug
    job = bench.gateway.jobs[submission_id]
    assert job.entrypoint.endswith(f"exec bash {folder / 'train_job.sh'}")
    assert "worker.jobs.maze_grpo" in (folder / "train_job.sh").read_text()
    environment = bench.gateway.environments[submission_id]
    assert environment["SKYDECK_RUN_ID"] == slug
    assert environment["SKYDECK_RUN_DIR"] == str(folder)
    assert not [name for name in environment if "TOKEN" in name or "DATABASE" in name]


async def test_one_run_at_a_time_and_the_others_know_their_place(bench: Bench) -> None:
    first, second, third = [await bench.add_run() for _ in range(3)]
    await bench.settle()
    await bench.step(5)
    waiting = await bench.read(second)
    assert waiting.status is RunStatus.QUEUED
    assert waiting.status_reason == "waits for 1 run before it, position 2"
    assert (await bench.read(third)).status_reason == "waits for 2 runs before it, position 3"
    bench.gateway.start(f"{first}-a1")
    await bench.end_job(first, JobStatus.SUCCEEDED)
    await bench.step(5)
    assert (await bench.read(second)).status is RunStatus.PENDING
    assert (await bench.read(third)).status is RunStatus.QUEUED
    assert bench.gateway.submitted == [f"{first}-a1", f"{second}-a1"]


async def test_a_run_waits_for_its_cluster(bench: Bench) -> None:
    bench.write_head(HeadPhase.STARTING, "waiting for dashboard")
    await bench.step(STEADY_POLLS)
    slug = await bench.add_run()
    await bench.settle()
    run = await bench.read(slug)
    assert run.status is RunStatus.QUEUED
    assert "to be ready (it is starting), position 1" in run.status_reason
    assert run.cluster is not None
    assert run.cluster.status is ClusterStatus.STARTING
    bench.write_head()
    await bench.step()
    await bench.step()
    assert (await bench.read(slug)).status is RunStatus.PENDING


async def test_a_queued_run_is_stopped_without_a_job(bench: Bench) -> None:
    await bench.start_run()
    slug = await bench.add_run()
    await bench.settle()
    await bench.change(slug, runs.request_stop)
    await bench.settle()
    assert await bench.moves(slug) == ["queued", "stopped"]
    assert len(bench.gateway.submitted) == 1


async def test_a_running_job_is_stopped(bench: Bench) -> None:
    slug = await bench.start_run()
    await bench.change(slug, runs.request_stop)
    await bench.settle()
    assert (await bench.attempt(slug)).status is AttemptStatus.STOPPING
    for _ in range(4):
        await bench.step()
    assert (await bench.moves(slug))[-2:] == ["stopping", "stopped"]


async def test_a_stop_that_ray_forgets_while_pending_is_asked_again(bench: Bench) -> None:
    slug = await bench.add_run()
    await bench.settle()
    await bench.change(slug, runs.request_stop)
    await bench.settle()
    assert bench.gateway.jobs[f"{slug}-a1"].status is JobStatus.PENDING
    bench.gateway.start(f"{slug}-a1")
    await bench.step()
    assert bench.gateway.jobs[f"{slug}-a1"].status is JobStatus.STOPPED
    for _ in range(4):
        await bench.step()
    assert (await bench.moves(slug))[-3:] == ["pending", "stopping", "stopped"]


async def test_a_failure_says_what_the_job_said(bench: Bench) -> None:
    slug = await bench.start_run()
    message = "Job entrypoint command failed\n\x1b[31mValueError: rank must be at least 1\x1b[0m\n"
    await bench.end_job(slug, JobStatus.FAILED, driver_exit_code=1, message=message)
    run = await bench.read(slug)
    said = "ValueError: rank must be at least 1"
    assert run.status is RunStatus.FAILED
    assert run.status_reason == f"The job ended with an error: {said}"
    failure = run.attempts[0].failure
    assert failure is not None
    assert (failure["class"], failure["evidence"]) == ("unknown", [said])


@pytest.mark.parametrize(
    ("log", "code", "kind", "proof"),
    [
        (b"maze_grpo: trainer.seed must be a whole number\n", 2, "config_error", "trainer.seed"),
        (b"failed at step 3 with OSError:\n[Errno 28] No space left\n", 1, "disk_full", "Errno"),
        (b"CUDA out of memory. Tried to allocate 2 GiB\0\n", -9, "out_of_memory", "Tried"),
        (b"step 7\n", -9, "killed", "step 7"),
    ],
)  # fmt: skip
async def test_the_stored_log_says_why_a_job_failed(
    bench: Bench, log: bytes, code: int, kind: str, proof: str
) -> None:
    slug = await bench.start_run()
    bench.write_log(slug, b"x" * 100_000 + b"\n" + log)
    await bench.end_job(slug, JobStatus.FAILED, driver_exit_code=code, message="it failed\0")
    run = await bench.read(slug)
    failure = run.attempts[0].failure
    assert failure is not None
    assert failure["class"] == kind
    assert any(proof in line for line in failure["evidence"])
    assert failure["hint"]
    assert run.status_reason == failure["message"]


async def test_a_job_that_ray_could_not_run_says_so(bench: Bench) -> None:
    slug = await bench.start_run()
    await bench.end_job(slug, JobStatus.FAILED, error_type="RUNTIME_ENV_SETUP_FAILURE", message="")
    reason = (await bench.read(slug)).status_reason
    assert reason == "Ray could not run the job (RUNTIME_ENV_SETUP_FAILURE)"


async def test_a_restarted_head_loses_the_run_which_can_then_be_resumed(bench: Bench) -> None:
    slug = await bench.start_run()
    bench.gateway.restart()
    for _ in range(4):
        await bench.step()
    run = await bench.read(slug)
    assert (run.status, run.attempts[0].status) == (RunStatus.LOST, AttemptStatus.LOST)
    failure = run.attempts[0].failure
    assert failure is not None
    assert failure["class"] == "head_restarted"
    assert "Resume" in failure["hint"]
    await bench.change(slug, runs.request_resume)
    await bench.settle()
    assert bench.gateway.submitted == [f"{slug}-a1", f"{slug}-a2"]
    assert (await bench.attempt(slug)).number == 2
    assert (await bench.read(slug)).status is RunStatus.PENDING


async def test_a_deleted_job_is_lost_too_but_not_by_a_restart(bench: Bench) -> None:
    slug = await bench.start_run()
    del bench.gateway.jobs[f"{slug}-a1"]
    await bench.step()
    failure = (await bench.attempt(slug)).failure
    assert failure is not None
    assert failure["class"] == "job_deleted"


async def test_what_was_known_stays_known_while_the_cluster_is_silent(bench: Bench) -> None:
    slug = await bench.start_run()
    bench.gateway.trouble = UNREACHABLE
    since = bench.clock.advance(1)
    await bench.settle()
    await bench.step()
    run = await bench.read(slug)
    assert run.status is RunStatus.RUNNING
    (condition,) = run.conditions
    assert condition["kind"] == "unreachable"
    assert condition["since"] == since.isoformat()
    bench.gateway.trouble = None
    await bench.step()
    assert (await bench.read(slug)).conditions == []


async def test_a_submit_that_was_not_committed_finds_its_job_again(bench: Bench) -> None:
    """A worker dies between the answer of Ray and the commit: the next one submits again."""
    slug = await bench.add_run()
    await bench.attempts.turn()
    run = await bench.read(slug)
    assert run.status is RunStatus.SUBMITTING
    reconciler = bench.attempts._reconciler
    async with bench.database.read() as session:
        subject = await reconciler.load(session, run.id)
    await reconciler.observe(subject)
    await bench.settle()
    assert bench.gateway.submitted == [f"{slug}-a1"]
    assert (await bench.read(slug)).status is RunStatus.PENDING


async def test_a_run_stopped_while_submitting_never_starts(bench: Bench) -> None:
    slug = await bench.add_run()
    await bench.attempts.turn()
    await bench.change(slug, runs.request_stop)
    await bench.settle()
    assert bench.gateway.submitted == []
    assert await bench.moves(slug) == ["queued", "submitting", "stopped"]


@pytest.mark.parametrize("waited", [timedelta(0), SUBMIT_PATIENCE])
async def test_a_refused_submit_is_tried_for_a_while(bench: Bench, waited: timedelta) -> None:
    bench.gateway.refusal = RayRefused("no agent", detail="No available agent to submit job")
    slug = await bench.add_run()
    await bench.settle()
    await bench.step(waited.total_seconds())
    await bench.step()
    run = await bench.read(slug)
    if waited:
        assert run.status is RunStatus.FAILED
        assert run.attempts[0].failure is not None
        assert run.attempts[0].failure["evidence"] == ["No available agent to submit job"]
        assert run.conditions == []
        return
    assert (run.status, run.status_reason) == (RunStatus.SUBMITTING, "no agent")
    bench.gateway.refusal = None
    await bench.step()
    assert (await bench.read(slug)).status is RunStatus.PENDING


async def test_a_folder_that_cannot_be_written_is_said_while_it_is_tried(bench: Bench) -> None:
    bench.home.joinpath("runs").touch()
    slug = await bench.add_run()
    await bench.settle()
    run = await bench.read(slug)
    assert run.status is RunStatus.SUBMITTING
    assert "cannot be written (Not a directory)" in run.status_reason
    assert [one["kind"] for one in run.conditions] == ["not_submitted"]
    bench.home.joinpath("runs").unlink()
    await bench.step()
    run = await bench.read(slug)
    assert (run.status, run.conditions) == (RunStatus.PENDING, [])


def fill_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    async def no_space(_job: Job) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("worker.reconcilers.attempts.write_files", no_space)


def drop_recipe(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(name: str) -> None:
        raise NotFound(f"there is no recipe {name}")

    monkeypatch.setattr("app.recipes.service.get", unknown)


def break_values(monkeypatch: pytest.MonkeyPatch) -> None:
    def render(_recipe: object, _values: object) -> None:
        raise KeyError("trainer.seed")

    monkeypatch.setattr("app.recipes.service.render", render)


OBSTACLES = [
    (fill_disk, "disk_full", "is full"),
    (drop_recipe, "config_error", "there is no recipe"),
    (break_values, "config_error", "trainer.seed"),
]
Obstacle = Callable[[pytest.MonkeyPatch], None]


@pytest.mark.parametrize(("obstacle", "kind", "words"), OBSTACLES)
async def test_a_job_that_cannot_be_made_fails_after_a_while_and_frees_its_place(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, obstacle: Obstacle, kind: str, words: str
) -> None:
    slug = await bench.add_run()
    with monkeypatch.context() as patched:
        obstacle(patched)
        await bench.settle()
        run = await bench.read(slug)
        assert (run.status, words in run.status_reason) == (RunStatus.SUBMITTING, True)
        await bench.step(SUBMIT_PATIENCE.total_seconds())
    failure = (await bench.attempt(slug)).failure
    assert failure is not None
    assert (failure["class"], words in failure["message"]) == (kind, True)
    assert (await bench.read(slug)).status is RunStatus.FAILED
    after = await bench.add_run()
    await bench.settle()
    assert (await bench.read(after)).status is RunStatus.PENDING


@pytest.mark.parametrize(("obstacle", "kind", "words"), OBSTACLES)
async def test_a_job_that_cannot_be_made_can_be_stopped(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, obstacle: Obstacle, kind: str, words: str
) -> None:
    slug = await bench.add_run()
    obstacle(monkeypatch)
    await bench.settle()
    await bench.change(slug, runs.request_stop)
    await bench.step()
    assert (await bench.read(slug)).status is RunStatus.STOPPED


@pytest.mark.parametrize(("obstacle", "kind", "words"), OBSTACLES)
async def test_a_job_submitted_before_the_obstacle_is_followed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, obstacle: Obstacle, kind: str, words: str
) -> None:
    """A worker died between the answer of Ray and the commit; then the disk ran full."""
    slug = await bench.add_run()
    await bench.attempts.turn()
    run = await bench.read(slug)
    async with bench.database.read() as session:
        subject = await bench.attempts._reconciler.load(session, run.id)
    await bench.attempts._reconciler.observe(subject)
    obstacle(monkeypatch)
    await bench.step(SUBMIT_PATIENCE.total_seconds())
    await bench.step()
    assert (await bench.read(slug)).status is RunStatus.PENDING


async def test_a_deleted_run_under_way_keeps_its_place(bench: Bench) -> None:
    first = await bench.start_run()
    async with bench.database.write() as session:
        (await runs.get(session, first)).deleted_at = bench.clock()
    second = await bench.add_run()
    await bench.settle()
    assert "1 run before it, position 2" in (await bench.read(second)).status_reason


async def test_the_run_ends_after_its_log_or_without_it(bench: Bench) -> None:
    slug = await bench.start_run()
    bench.gateway.finish(f"{slug}-a1", JobStatus.SUCCEEDED)
    bench.clock.advance(1)
    await bench.attempts.turn()
    run = await bench.read(slug)
    assert (run.status, run.attempts[0].status) == (RunStatus.RUNNING, AttemptStatus.SUCCEEDED)
    bench.clock.advance(LOG_WAIT.total_seconds())
    await bench.attempts.turn()
    assert (await bench.read(slug)).status is RunStatus.RUNNING
    bench.clock.advance(1)
    await bench.attempts.turn()
    assert (await bench.read(slug)).status is RunStatus.SUCCEEDED
