"""Follows the log of an attempt, and stores in one transaction all that a piece of it says.

The bytes, the metric points, the evaluations, the run's progress, the parser's state and the
offset move together: a kill at any instant repeats nothing and skips nothing. Secrets are masked
before anything else sees the bytes; the offset is that of the file.
"""

import asyncio
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import selectinload

from app.checkpoints import service as checkpoints
from app.checkpoints.folders import EXPORTS
from app.clusters import registry
from app.clusters.registry import ClusterAccess
from app.db import ReadSession, WriteSession
from app.logs import service as logs
from app.metrics import service as metrics
from app.models import Attempt, ClusterKind, LogStream, Run, TrainingEvaluation, TrainingRollouts
from app.ray.head_state import read_head_state
from app.ray.logs import job_log_path, read_log_file
from app.recipes.shell import with_run_id
from app.secrets import service as secrets
from app.secrets.masking import Masker
from worker.reconciler import Reconciler
from worker.reconcilers import conditions, job_tracking
from worker.reconcilers.dumps import Evaluation
from worker.reconcilers.gateways import Gateways
from worker.reconcilers.moves import note
from worker.reconcilers.readings import Follower, Reading
from worker.reconcilers.remote_logs import RemoteLogs

TURN_BYTES = 1024 * 1024
# In the home folder: copies of logs of other machines.
REMOTE_LOGS = "remote-logs"
# Ray's own last words about a job may reach its log after the job's end.
SETTLE = timedelta(seconds=2)
# How long a log is looked for after its job's end, and the run's end waits for it: it may be gone
# with its head, or lie on a machine that this worker cannot see.
LOG_WAIT = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Remote:
    """A job whose log lies on a registered cluster."""

    access: ClusterAccess
    submission_id: str


@dataclass(frozen=True, slots=True)
class Subject:
    """How far a log was read, and where the rest of it is (`path` None: nobody knows).

    `has_run`: the job was seen running, so there must be a log.
    """

    stream_id: UUID
    path: Path | None
    remote: "Remote | None"
    offset: int
    follower: Follower
    masker: Masker
    ended_at: datetime | None
    has_run: bool

    @property
    def may_have_none(self) -> bool:
        return self.path is not None and not self.has_run


@dataclass(frozen=True, slots=True)
class Turn:
    """One look at a log, at `read_bytes` more of the file.

    `is_at_end`: nothing more was there, though the job has ended. `is_found`: there was a file.
    `is_rest`: the job has ended with what looks like the beginning of a secret. `is_behind`: more
    was there than one turn takes.
    """

    reading: Reading
    read_bytes: int = 0
    is_at_end: bool = False
    is_found: bool = True
    is_rest: bool = False
    is_behind: bool = False


class LogsReconciler(Reconciler[Subject, Turn]):
    """Reconciles log streams. `poll`: the pause between two looks at a log's end."""

    model = LogStream

    def __init__(
        self,
        gateways: Gateways,
        *,
        home: Path,
        runs_dir: Path,
        poll: timedelta,
        turn_bytes: int = TURN_BYTES,
    ) -> None:
        self._home = home
        self._remote = RemoteLogs(gateways, home / REMOTE_LOGS)
        self._runs_dir = runs_dir
        self._poll = poll
        self._turn_bytes = turn_bytes

    async def load(self, session: ReadSession, row_id: UUID) -> Subject:
        stream = await session.get_one(LogStream, row_id)
        attempt = await session.get_one(Attempt, stream.attempt_id)
        run = await session.get_one(
            Run, stream.run_id, options=[selectinload(Run.cluster), selectinload(Run.config)]
        )
        remote = None
        if run.cluster is not None and run.cluster.kind is not ClusterKind.EMBEDDED:
            access = await registry.access(session, run.cluster)
            remote = Remote(access, attempt.submission_id)
        values = run.config.values
        exports = values.get("trainer.export_path") or str(self._runs_dir / run.slug / EXPORTS)
        follower = Follower(
            self._runs_dir / run.slug,
            stream.parser,
            patterns=values.get("job.metric_patterns") or (),
            exports=with_run_id(str(exports), run.slug),
        )
        return Subject(
            stream_id=stream.id,
            path=self._remote.path(attempt.submission_id)
            if remote
            else find_log(self._home, attempt.ray_session, attempt.submission_id),
            remote=remote,
            offset=stream.read_bytes,
            follower=follower,
            masker=await secrets.masker(
                session, [run.project_id], also=job_tracking.masked_values(session, attempt.id)
            ),
            ended_at=attempt.ended_at,
            has_run=attempt.started_at is not None,
        )

    async def observe(self, subject: Subject) -> Turn:
        # Room for a whole secret, whatever it is encoded in.
        limit = max(self._turn_bytes, 2 * subject.masker.longest)
        found, is_whole = None, True
        if subject.remote is not None:
            is_whole = await self._remote.bring(
                subject.remote.access,
                subject.remote.submission_id,
                has_ended=subject.ended_at is not None,
            )
        if subject.path is not None:
            found = await read_log_file(subject.path, offset=subject.offset, limit=limit)
        data = found or b""
        # `ended_at` was loaded before the file was read, so nothing there means the end.
        if not data and subject.ended_at is not None:
            reading = subject.follower.finish()
            return Turn(reading, is_at_end=True, is_found=found is not None and is_whole)
        return await asyncio.to_thread(_take, subject, data, limit)

    async def apply(
        self, session: WriteSession, subject: Subject, observed: Turn, *, now: datetime
    ) -> datetime | None:
        stream = await session.get_one(LogStream, subject.stream_id)
        if observed.is_rest and subject.ended_at and now < subject.ended_at + SETTLE:
            return now + self._poll
        if not observed.is_at_end:
            if observed.read_bytes:
                await _store(session, stream, observed, subject.masker, now=now)
            return now if observed.is_behind else now + self._poll
        assert subject.ended_at is not None
        is_there = observed.is_found or subject.may_have_none
        if now < subject.ended_at + (SETTLE if is_there else LOG_WAIT):
            return now + self._poll
        await _store(session, stream, observed, subject.masker, now=now)
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


def _take(subject: Subject, data: bytes, limit: int) -> Turn:
    """Masks and reads what can be decided on; a tail that may go on as a secret stays unread."""
    is_full = len(data) == limit
    masked = subject.masker.feed(data, is_end=False)
    # Nothing can be decided, and nothing more will come that could help.
    is_rest = bool(data) and not masked.consumed and (is_full or subject.ended_at is not None)
    if is_rest:
        masked = subject.masker.feed(data, is_end=True)
    return Turn(
        subject.follower.feed(masked.data),
        read_bytes=masked.consumed,
        is_rest=is_rest and not is_full,
        is_behind=is_full,
    )


async def _store(
    session: WriteSession, stream: LogStream, turn: Turn, masker: Masker, *, now: datetime
) -> None:
    found = await _unknown(session, stream, turn.reading.evaluations)
    reading = replace(turn.reading, evaluations=found)
    is_first = stream.parser is None
    await logs.append(session, stream, reading.data)
    stream.read_bytes += turn.read_bytes
    stream.parser, stream.updated_at = reading.state, now
    points = reading.points(now=now)
    await metrics.ingest(session, stream.run_id, stream.attempt_number, points)
    for evaluation in reading.evaluations:
        row = evaluation.row(stream.run_id, stream.attempt_number, now=now)
        # Both come from what the job wrote, and not from its log.
        row.env_id, row.path = masker.text(row.env_id), masker.text(row.path)
        session.add(row)
        await session.flush()
        session.add(TrainingRollouts(evaluation_id=row.id, payload=evaluation.rollouts))
    run = await session.get_one(Run, stream.run_id)
    reading.progress.put(run, now=now)
    if is_first or reading.saved:
        # A job may save without saying so: its folder is watched from its first line on.
        number = stream.attempt_number
        await checkpoints.note_log(session, run, number, reading.saved, now=now)
    for message in reading.troubles:
        await _say(session, stream, conditions.METRICS_INCOMPLETE, message, at=now)


async def _say_lost(session: WriteSession, stream: LogStream, now: datetime) -> None:
    message = (
        f"The log of attempt {stream.attempt_number} was not found: it went with its Ray head, or "
        f"lies on another machine. The first {stream.read_bytes:,} bytes are stored."
    )
    await _say(session, stream, conditions.LOG_LOST, message, at=now)


async def _say(
    session: WriteSession, stream: LogStream, kind: str, message: str, *, at: datetime
) -> None:
    """Raises a condition, with its event."""
    # The run's own reconciler writes conditions, too.
    await session.flush()
    run = await session.get_one(Run, stream.run_id, with_for_update=True, populate_existing=True)
    conditions.raise_condition(run, kind, message, at=at)
    session.add(note(run, stream.attempt_number, kind=kind, at=at, message=message))


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
