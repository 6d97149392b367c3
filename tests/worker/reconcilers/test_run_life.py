"""Runs under any order of wishes, job changes, restarts, silences and killed workers.

Whatever happens: statuses follow the table, one run at a time is on the cluster, no job is
submitted twice, and once the world is well again every run ends.
"""

import asyncio
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from app.db import Database
from app.errors import Conflict
from app.models import Run, RunStatus
from app.ray.errors import RayUnreachable
from app.ray.gateway import JobStatus
from app.runs import service as runs
from app.runs.states import ATTEMPT_ENDED, ENDED, TRANSITIONS
from tests.conftest import sqlite_copy
from tests.worker.reconcilers.conftest import Bench, make_bench

ON_CLUSTER = (RunStatus.SUBMITTING, RunStatus.PENDING, RunStatus.RUNNING, RunStatus.STOPPING)
MOST_RUNS = 3
picks = st.integers(min_value=0, max_value=MOST_RUNS - 1)


class RunLife(RuleBasedStateMachine):
    template: Path

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.folder = Path(tempfile.mkdtemp(prefix="run-life-"))
        self.database = Database(sqlite_copy(self.template, self.folder))
        self.bench: Bench = self.wait(make_bench(self.database, self.folder / "home"))
        self.slugs: list[str] = []

    def wait(self, work: Any) -> Any:
        return self.runner.run(work)

    @precondition(lambda self: len(self.slugs) < MOST_RUNS)
    @rule()
    def launch(self) -> None:
        self.slugs.append(self.wait(self.bench.add_run()))

    @rule(seconds=st.sampled_from([1, 1, 1, 5, 100]))
    def time_passes(self, seconds: int) -> None:
        self.wait(self.bench.step(seconds))

    @rule(pick=picks)
    def stop(self, pick: int) -> None:
        self.wish(pick, runs.request_stop)

    @rule(pick=picks)
    def resume(self, pick: int) -> None:
        self.wish(pick, runs.request_resume)

    def wish(self, pick: int, asked: Any) -> None:
        if pick < len(self.slugs):
            try:
                self.wait(self.bench.change(self.slugs[pick], asked))
            except Conflict:
                return

    @rule()
    def jobs_start(self) -> None:
        for job in list(self.bench.gateway.jobs.values()):
            if job.status is JobStatus.PENDING:
                self.bench.gateway.start(job.submission_id)

    @rule(status=st.sampled_from([JobStatus.SUCCEEDED, JobStatus.FAILED]))
    def jobs_end(self, status: JobStatus) -> None:
        for job in list(self.bench.gateway.jobs.values()):
            if job.status is JobStatus.RUNNING:
                self.bench.gateway.finish(job.submission_id, status)

    @rule()
    def head_restarts(self) -> None:
        self.bench.gateway.restart()
        self.bench.write_head()

    @rule(is_silent=st.booleans())
    def cluster_falls_silent_or_answers(self, is_silent: bool) -> None:
        trouble = RayUnreachable("http://127.0.0.1:1", "ConnectError")
        self.bench.gateway.trouble = trouble if is_silent else None

    @rule(pick=picks)
    def worker_dies_after_asking_ray(self, pick: int) -> None:
        if pick < len(self.slugs):
            self.wait(self.observe_only(self.slugs[pick]))

    async def observe_only(self, slug: str) -> None:
        run = await self.bench.read(slug)
        reconciler = self.bench.attempts._reconciler
        async with self.database.read() as session:
            subject = await reconciler.load(session, run.id)
        await reconciler.observe(subject)

    @invariant()
    def one_run_at_a_time(self) -> None:
        active = [run for run in self.wait(self.read_runs()) if run.status in ON_CLUSTER]
        assert len(active) <= 1

    @invariant()
    def no_job_is_submitted_twice(self) -> None:
        submitted = self.bench.gateway.submitted
        lost = self.bench.gateway.session_name != "session_1"
        assert lost or len(submitted) == len(set(submitted))

    @invariant()
    def ended_runs_are_left_alone_and_have_no_open_attempt(self) -> None:
        for run in self.wait(self.read_runs()):
            if run.status in ENDED:
                assert run.due_at is None
                assert all(attempt.status in ATTEMPT_ENDED for attempt in run.attempts)

    @invariant()
    def events_follow_the_table(self) -> None:
        for slug in self.slugs:
            before, *later = self.wait(self.bench.moves(slug))
            for after in later:
                assert RunStatus(after) in TRANSITIONS[RunStatus(before)]
                before = after

    def teardown(self) -> None:
        try:
            self.wait(self.all_runs_end_once_the_world_is_well())
        finally:
            self.wait(self.database.close())
            self.runner.close()
            shutil.rmtree(self.folder)

    async def all_runs_end_once_the_world_is_well(self) -> None:
        self.bench.gateway.trouble = None
        for _ in range(8 * MOST_RUNS):
            self.jobs_start()
            self.jobs_end(JobStatus.SUCCEEDED)
            await self.bench.step(3)
        assert [run.slug for run in await self.read_runs() if run.status not in ENDED] == []

    async def read_runs(self) -> list[Run]:
        return [await self.bench.read(slug) for slug in self.slugs]


def test_any_life_of_runs_keeps_its_promises(sqlite_template: Path) -> None:
    RunLife.template = sqlite_template
    run_state_machine_as_test(
        RunLife,
        settings=settings(
            max_examples=8,
            stateful_step_count=12,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
