"""Follows the log of an attempt, and stores in one transaction all that a piece of it says.

The bytes, the metric points, the evaluations, the run's progress, the parser's state and the
offset move together: a kill at any instant repeats nothing and skips nothing.
"""

import asyncio
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from uuid import UUID

from sqlalchemy import select

from app.db import ReadSession, WriteSession
from app.logs import service as logs
from app.metrics import service as metrics
from app.models import Attempt, LogStream, Run, TrainingEvaluation
from app.ray.head_state import read_head_state
from app.ray.logs import job_log_path, read_log_file
from worker.reconciler import Reconciler
from worker.reconcilers import conditions
from worker.reconcilers.dumps import Evaluation
from worker.reconcilers.moves import note
from worker.reconcilers.readings import Follower, Reading

TURN_BYTES = 1024 * 1024
# Ray's own last words about a job may reach its log after the job's end.
SETTLE = timedelta(seconds=2)
# How long a log is looked for after its job's end, and the run's end waits for it: it may be gone
# with its head, or lie on a machine that this worker cannot see.
LOG_WAIT = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Subject:
    """How far a log was read, and where the rest of it is (`path` None: nobody knows).

    `has_run`: the job was seen running, so there must be a log.
    """

    stream_id: UUID
    path: Path | None
    offset: int
    follower: Follower
    ended_at: datetime | None
    has_run: bool

    @property
    def may_have_none(self) -> bool:
        return self.path is not None and not self.has_run


@dataclass(frozen=True, slots=True)
class Turn:
    """One look at a log. `is_at_end`: nothing more was there, though the job has ended.

    `is_found`: there was a file.
    """

    reading: Reading
    is_at_end: bool
    is_found: bool = True


class LogsReconciler(Reconciler[Subject, Turn]):
    """Reconciles log streams. `poll`: the pause between two looks at a log's end."""

    model = LogStream

    def __init__(
        self, *, home: Path, runs_dir: Path, poll: timedelta, turn_bytes: int = TURN_BYTES
    ) -> None:
        self._home = home
        self._runs_dir = runs_dir
        self._poll = poll
        self._turn_bytes = turn_bytes

    async def load(self, session: ReadSession, row_id: UUID) -> Subject:
        stream = await session.get_one(LogStream, row_id)
        attempt = await session.get_one(Attempt, stream.attempt_id)
        run = await session.get_one(Run, stream.run_id)
        return Subject(
            stream_id=stream.id,
            path=find_log(self._home, attempt.ray_session, attempt.submission_id),
            offset=stream.n_bytes,
            follower=Follower(self._runs_dir / run.slug, stream.parser),
            ended_at=attempt.ended_at,
            has_run=attempt.started_at is not None,
        )

    async def observe(self, subject: Subject) -> Turn:
        found = None
        if subject.path is not None:
            found = await read_log_file(subject.path, offset=subject.offset, limit=self._turn_bytes)
        data = found or b""
        # `ended_at` was loaded before the file was read, so nothing there means the end.
        if not data and subject.ended_at is not None:
            reading = subject.follower.finish()
            return Turn(reading, is_at_end=True, is_found=found is not None)
        return Turn(await asyncio.to_thread(subject.follower.feed, data), is_at_end=False)

    async def apply(
        self, session: WriteSession, subject: Subject, observed: Turn, *, now: datetime
    ) -> datetime | None:
        stream = await session.get_one(LogStream, subject.stream_id)
        if not observed.is_at_end:
            if observed.reading.data:
                await _store(session, stream, observed.reading, now)
            is_behind = len(observed.reading.data) == self._turn_bytes
            return now if is_behind else now + self._poll
        assert subject.ended_at is not None
        is_there = observed.is_found or subject.may_have_none
        if now < subject.ended_at + (SETTLE if is_there else LOG_WAIT):
            return now + self._poll
        await _store(session, stream, observed.reading, now)
        stream.is_complete = True
        if not is_there:
            await _say_lost(session, stream, now)
        return None


def find_log(home: Path, session_name: str | None, submission_id: str) -> Path | None:
    """The log file of a job on the embedded head of that session, which may have ended."""
    state = read_head_state(home)
    if state is None or session_name is None:
        return None
    if state.session_dir is not None and state.session_name == session_name:
        return job_log_path(state.session_dir, submission_id)
    ended = state.temp_dir.parent.glob(f"*/{session_name}")
    return next((job_log_path(folder, submission_id) for folder in ended), None)


async def _store(session: WriteSession, stream: LogStream, reading: Reading, now: datetime) -> None:
    reading = replace(reading, evaluations=await _unknown(session, stream, reading.evaluations))
    await logs.append(session, stream, reading.data)
    stream.parser, stream.updated_at = reading.state, now
    points = reading.points(now=now)
    await metrics.ingest(session, stream.run_id, stream.attempt_number, points)
    session.add_all(
        evaluation.row(stream.run_id, stream.attempt_number, now=now)
        for evaluation in reading.evaluations
    )
    run = await session.get_one(Run, stream.run_id)
    reading.progress.put(run, now=now)


async def _say_lost(session: WriteSession, stream: LogStream, now: datetime) -> None:
    message = (
        f"The log of attempt {stream.attempt_number} was not found: it went with its Ray head, or "
        f"lies on another machine. The first {stream.n_bytes:,} bytes are stored."
    )
    # The run's own reconciler writes conditions, too.
    await session.flush()
    run = await session.get_one(Run, stream.run_id, with_for_update=True, populate_existing=True)
    conditions.raise_condition(run, conditions.LOG_LOST, message, at=now)
    session.add(note(run, stream.attempt_number, kind="log_lost", at=now, message=message))


async def _unknown(
    session: WriteSession, stream: LogStream, found: list[Evaluation]
) -> list[Evaluation]:
    """The first evaluation of each step: a job may print the same dump's name twice."""
    if not found:
        return []
    query = select(TrainingEvaluation.step).where(
        TrainingEvaluation.run_id == stream.run_id,
        TrainingEvaluation.attempt_number == stream.attempt_number,
    )
    known = set(await session.scalars(query))
    return list({one.step: one for one in reversed(found) if one.step not in known}.values())[::-1]
