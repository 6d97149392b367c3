"""Following a log: each byte, point and evaluation once, whatever happens in between."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from sqlalchemy import select

from app.episodes import rollouts
from app.logs import service as logs
from app.metrics import service as metrics
from app.models import Event, LogStream, MetricSeries, Run, RunStatus, TrainingEvaluation
from app.ray.gateway import JobStatus
from app.runs import service as runs
from tests.worker.reconcilers.conftest import POLL, Bench
from worker.reconciler import Loop
from worker.reconcilers.logs import LOG_WAIT, LogsReconciler

TRACKING = "skyrl.train.utils.tracking:log:120"
TRAINER = "skyrl.train.trainer:run:88"


def record(message: str, place: str = TRAINER) -> str:
    return f"2026-11-29 12:00:01.500 | INFO     | {place} - {message}\n"


def block(step: int, **values: float) -> str:
    rows = [f"'{key.replace('__', '/')}': '{value:.4f}'" for key, value in values.items()]
    return record(f"Step {step}: ", TRACKING) + "{" + ",\n ".join(rows) + "}\n"


def write_dump(bench: Bench, slug: str, step: int, solved: list[bool]) -> Path:
    folder = bench.home / "runs" / slug / "exports" / f"dumped_evals/global_step_{step}_evals"
    folder.mkdir(parents=True)
    file = folder / "easy.jsonl"
    rows = [
        {
            "score": [0.0, float(is_solved)],
            "output_response": "<action>stop</action>",
            "env_extras": {"seed": seed, "max_turns": 15, "visgym_env_id": "maze_2d/easy"},
        }
        for seed, is_solved in enumerate(solved)
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


async def stored_log(bench: Bench, stream: LogStream) -> bytes:
    return b"".join([part async for part in logs.iter_bytes(bench.database, stream.id)])


async def series_of(bench: Bench, slug: str, key: str) -> tuple[list[int], list[float]]:
    async with bench.database.read() as session:
        run = await runs.get(session, slug)
        views = await metrics.read_series(session, [run], [key])
    columns = [view.columns for view in views]
    return (
        [int(step) for part in columns for step in part.steps],
        [float(value) for part in columns for value in part.values],
    )


async def evaluations_of(bench: Bench, slug: str) -> Sequence[TrainingEvaluation]:
    async with bench.database.read() as session:
        run = await runs.get(session, slug)
        query = select(TrainingEvaluation).where(TrainingEvaluation.run_id == run.id)
        return (await session.scalars(query)).all()


async def test_bytes_points_and_progress_arrive_together(bench: Bench) -> None:
    slug = await bench.start_run()
    text = record("Total steps: 3") + record("Started: 'generate'")
    text += block(1, reward__mean=0.5, timing__step=2.0) + block(2, reward__mean=0.75)
    bench.write_log(slug, text.encode())
    await bench.step()
    stream = await bench.stream(slug)
    assert (stream.n_bytes, stream.n_lines) == (len(text), text.count("\n"))
    assert await stored_log(bench, stream) == text.encode()
    assert await series_of(bench, slug, "reward/mean") == ([1, 2], [0.5, 0.75])
    run = await bench.read(slug)
    assert (run.step, run.total_steps, run.phase) == (2, 3, "generate")
    assert (run.seconds_per_step, run.progress_at) == (2.0, bench.clock())


async def test_turns_of_a_few_bytes_store_the_same_as_one(bench: Bench) -> None:
    slug = await bench.start_run()
    text = (block(1, a=0.5) + "noise \xff\n" + block(2, a=0.25)).encode("latin-1")
    bench.write_log(slug, text)
    small = LogsReconciler(
        bench.gateway, home=bench.home, runs_dir=bench.home / "runs", poll=POLL, turn_bytes=7
    )
    loop = Loop(bench.database, small, lease_seconds=15, clock=bench.clock)
    bench.clock.advance(1)
    while await loop.turn():
        pass
    stream = await bench.stream(slug)
    assert await stored_log(bench, stream) == text
    assert await series_of(bench, slug, "a") == ([1, 2], [0.5, 0.25])


async def test_a_result_that_was_not_committed_is_read_again(bench: Bench) -> None:
    """A worker is killed between its read and its commit; another one takes over."""
    slug = await bench.start_run()
    bench.write_log(slug, block(1, a=0.5).encode())
    reconciler = bench.logs._reconciler
    stream = await bench.stream(slug)
    async with bench.database.read() as session:
        subject = await reconciler.load(session, stream.id)
    turn = await reconciler.observe(subject)
    with pytest.raises(ConnectionError):
        await store_and_fail(bench, subject, turn)
    await bench.step()
    stream = await bench.stream(slug)
    assert await stored_log(bench, stream) == block(1, a=0.5).encode()
    assert await series_of(bench, slug, "a") == ([1], [0.5])


async def store_and_fail(bench: Bench, subject: object, turn: object) -> None:
    async with bench.database.write() as session:
        await bench.logs._reconciler.apply(session, subject, turn, now=bench.clock())
        await session.flush()
        raise ConnectionError


async def test_the_end_of_a_log_is_stored_before_its_run_ends(bench: Bench) -> None:
    slug = await bench.start_run()
    bench.gateway.finish(f"{slug}-a1", JobStatus.SUCCEEDED)
    await bench.step()
    bench.write_log(slug, block(7, a=1.0).removesuffix("\n").encode())
    await bench.step()
    assert (await bench.read(slug)).status is RunStatus.RUNNING
    for _ in range(3):
        await bench.step()
    run = await bench.read(slug)
    stream = await bench.stream(slug)
    assert (run.status, stream.is_complete, stream.due_at) == (RunStatus.SUCCEEDED, True, None)
    assert await series_of(bench, slug, "a") == ([7], [1.0])


async def test_an_evaluation_becomes_rows_and_a_solve_rate(bench: Bench) -> None:
    slug = await bench.start_run()
    file = write_dump(bench, slug, 20, [True, False, True, True])
    said = record(f"Dumped eval data for easy to {file}")
    bench.write_log(slug, (said + said).encode())
    await bench.step()
    (evaluation,) = await evaluations_of(bench, slug)
    assert (evaluation.step, evaluation.n, evaluation.solved_count) == (20, 4, 3)
    assert evaluation.env_id == "maze_2d/easy"
    assert evaluation.items[1] == {
        "seed": 1,
        "solved": False,
        "passed": False,
        "turns": 1,
        "reward": 0.0,
        "kept": True,
    }
    assert await series_of(bench, slug, "skydeck/eval/solve_rate") == ([20], [0.75])


@pytest.mark.parametrize("place", ["/etc/hostname", "pipe", "missing"])
async def test_a_log_cannot_make_the_worker_read_elsewhere(bench: Bench, place: str) -> None:
    slug = await bench.start_run()
    folder = bench.home / "runs" / slug / "dumped_evals" / "global_step_1_evals"
    folder.mkdir(parents=True)
    os.mkfifo(folder / "pipe")
    said = record(f"Dumped eval data for easy to {folder / place}") + block(1, a=0.5)
    bench.write_log(slug, said.encode())
    await bench.step()
    assert await evaluations_of(bench, slug) == []
    assert await series_of(bench, slug, "a") == ([1], [0.5])


@pytest.mark.parametrize("is_linked", [False, True])
async def test_the_dump_of_another_run_is_not_taken_for_ours(bench: Bench, is_linked: bool) -> None:
    slug = await bench.start_run()
    file = write_dump(bench, "run-other", 20, [True, True])
    if is_linked:
        folder = bench.home / "runs" / slug / "global_step_20_evals"
        folder.mkdir(parents=True)
        (folder / "easy.jsonl").symlink_to(file)
        file = folder / "easy.jsonl"
    bench.write_log(slug, record(f"Dumped eval data for easy to {file}").encode())
    await bench.step()
    assert await evaluations_of(bench, slug) == []


async def test_a_circle_of_links_or_a_path_without_end_is_no_dump(bench: Bench) -> None:
    slug = await bench.start_run()
    folder = bench.home / "runs" / slug / "global_step_1_evals"
    folder.mkdir(parents=True)
    (folder / "a").symlink_to(folder / "b")
    (folder / "b").symlink_to(folder / "a")
    long = "/".join(["x" * 200] * 6)
    (folder / long).mkdir(parents=True)
    (folder / long / "a.jsonl").write_text('{"score": 1}\n')
    places = ["a", f"{long}/a.jsonl", "y" * 5_000]
    said = "".join(record(f"Dumped eval data for x to {folder / place}") for place in places)
    bench.write_log(slug, (said + block(1, a=0.5)).encode())
    await bench.step()
    assert await evaluations_of(bench, slug) == []
    assert await series_of(bench, slug, "a") == ([1], [0.5])


async def test_a_hostile_log_and_dump_do_not_hold_up_the_stream(bench: Bench) -> None:
    slug = await bench.start_run()
    file = write_dump(bench, slug, 10**17, [True, True])
    rows = [
        {"score": score, "env_extras": {"seed": 2**80, "visgym_env_id": "\0\ud800" + "e" * 200}}
        for score in (float("nan"), float("inf"), [1e308, 1e308], 1.0)
    ]
    file.write_text("".join(json.dumps(one) + "\n" for one in rows))
    largest = 10**18 - 1
    text = record(f"Total steps: {largest}") + record(f"Total steps: {10**19}")
    text += record("Started: '" + "p" * 200 + "'") + record("Started: 'a\0b'")
    text += record(f"Dumped eval data for easy to {file}")
    text += record(f"Step {largest}: ", TRACKING)
    text += (
        "{'"
        + "k" * 501
        + "': 1,\n '\\x00': 1,\n '\\ud800': 1,\n 'timing/step': 'nan',\n 'ok': 'inf'}\n"
    )
    text += record(f"Step {10**19}: ", TRACKING) + "{'a': 1}\n" + block(3, a=0.5)
    bench.write_log(slug, text.encode() + b"\0\xff\n")
    await bench.step()
    stream = await bench.stream(slug)
    assert await stored_log(bench, stream) == text.encode() + b"\0\xff\n"
    assert await series_of(bench, slug, "a") == ([3], [0.5])
    assert await series_of(bench, slug, "ok") == ([largest], [float("inf")])
    (evaluation,) = await evaluations_of(bench, slug)
    assert (evaluation.step, evaluation.n, evaluation.solved_count) == (10**17, 4, 1)
    assert evaluation.env_id == "?" + "e" * 63
    assert [item["reward"] for item in evaluation.items] == [None, None, None, 1.0]
    run = await bench.read(slug)
    assert (run.step, run.total_steps, run.seconds_per_step) == (3, largest, None)
    await bench.end_job(slug, JobStatus.SUCCEEDED)
    assert (await bench.read(slug)).status is RunStatus.SUCCEEDED


@pytest.mark.parametrize("is_elsewhere", [True, False])
async def test_a_log_that_is_not_found_is_said_to_be_lost(bench: Bench, is_elsewhere: bool) -> None:
    slug = await bench.start_run()
    bench.write_log(slug, b"some\n")
    await bench.step()
    bench.gateway.finish(f"{slug}-a1", JobStatus.SUCCEEDED)
    if is_elsewhere:
        bench.gateway.session_dir = None
        (bench.home / "ray" / "head.json").unlink()
    else:
        bench.log_file(slug).unlink()
    for _ in range(5):
        await bench.step()
    assert not (await bench.stream(slug)).is_complete
    assert (await bench.read(slug)).status is RunStatus.RUNNING
    await bench.step(LOG_WAIT.total_seconds())
    await bench.step()
    run = await bench.read(slug)
    assert (run.status, (await bench.stream(slug)).is_complete) == (RunStatus.SUCCEEDED, True)
    (condition,) = run.conditions
    assert condition["kind"] == "log_lost"
    assert "attempt 1 was not found" in condition["message"]
    assert "first 5 bytes are stored" in condition["message"]
    async with bench.database.read() as session:
        query = select(Event.message).where(Event.run_id == run.id, Event.kind == "log_lost")
        assert list(await session.scalars(query)) == [condition["message"]]


async def test_a_job_that_never_ran_needs_no_log(bench: Bench) -> None:
    slug = await bench.add_run()
    await bench.settle()
    await bench.end_job(slug, JobStatus.STOPPED)
    run = await bench.read(slug)
    assert (run.status, run.conditions) == (RunStatus.STOPPED, [])


async def test_the_log_of_an_ended_head_is_read_to_its_end(bench: Bench) -> None:
    slug = await bench.start_run()
    bench.write_log(slug, block(1, a=0.5).encode())
    bench.gateway.restart()
    bench.write_head()
    for _ in range(5):
        await bench.step()
    assert (await bench.read(slug)).status is RunStatus.LOST
    stream = await bench.stream(slug)
    assert stream.is_complete
    assert await stored_log(bench, stream) == block(1, a=0.5).encode()


async def test_a_resumed_run_gets_a_second_log_and_goes_on_in_its_series(bench: Bench) -> None:
    slug = await bench.start_run()
    bench.write_log(slug, (block(1, a=0.1) + block(2, a=0.2) + block(3, a=0.3)).encode())
    await bench.step()
    await bench.end_job(slug, JobStatus.FAILED, driver_exit_code=-9)
    await bench.change(slug, runs.request_resume)
    await bench.settle()
    resumed = record("Resuming from global_step: 1") + block(2, a=0.4)
    bench.write_log(slug, resumed.encode(), number=2)
    bench.gateway.start(f"{slug}-a2")
    await bench.step()
    await bench.step()
    assert await series_of(bench, slug, "a") == ([1, 2], [0.1, 0.4])
    assert (await bench.stream(slug)).attempt_number == 2
    async with bench.database.read() as session:
        summary = await session.scalar(
            select(MetricSeries).join(Run, Run.id == MetricSeries.run_id)
        )
    assert summary is not None
    assert (summary.last_step, summary.last) == (2, 0.4)


async def test_what_was_said_in_an_evaluation_outlives_its_dump(bench: Bench) -> None:
    slug = await bench.start_run()
    file = write_dump(bench, slug, 3, [False, True])
    bench.write_log(slug, record(f"Dumped eval data for easy to {file}").encode())
    await bench.step()
    file.unlink()
    async with bench.database.read() as session:
        run = await runs.get(session, slug)
        kept = await rollouts.get_rollout(session, run, 3, 1)
    found = await rollouts.rebuild(kept)
    (turn,) = found.loaded.lanes[0].lane.turns
    assert turn.answer.text == "<action>stop</action>"
