"""Takes a run from the queue to its end: admits it, submits its job, follows the job's status.

Each turn is one small step, and every step may be repeated: the submission id is ours, so a
second submit finds the first one's job. The run itself ends only when its log is stored to the
last byte, so that whoever waits for `succeeded` then reads final numbers.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import selectinload

from app.clusters import registry
from app.clusters.registry import ClusterAccess
from app.db import ReadSession, WriteSession
from app.errors import Conflict, Invalid, SkydeckError
from app.ids import new_id
from app.logs import service as logs
from app.logs.parsers.diagnosis import MAX_TAIL_BYTES
from app.models import (
    Attempt,
    AttemptStatus,
    DesiredStatus,
    LogStream,
    Run,
    RunStatus,
)
from app.ray.errors import RayError, RayRefused
from app.ray.gateway import JobInfo, JobStatus, RayGateway
from app.runs import policy
from app.runs.states import ATTEMPT_ENDED, ENDED
from app.secrets import service as secrets
from app.secrets.crypto import KeyMissing
from app.users import service as users
from worker.reconciler import Reconciler
from worker.reconcilers import conditions, failures, job_tracking
from worker.reconcilers.admission import find_wait
from worker.reconcilers.failures import Refusal
from worker.reconcilers.gateways import Gateways
from worker.reconcilers.job import job_of, submission_id, write_files
from worker.reconcilers.job_code import JobCode, Packages, load_code
from worker.reconcilers.job_secrets import JobSecrets, load_secrets
from worker.reconcilers.job_tracking import Addresses
from worker.reconcilers.logs import LOG_WAIT
from worker.reconcilers.moves import move, move_attempt

# Ray refuses jobs for a while after its start, or under load, until an agent has registered; a
# full disk may get room.
SUBMIT_PATIENCE = timedelta(seconds=90)
# Far back in the queue, nothing changes from second to second.
_SLOWEST_POLLS = 5

_OF_JOB = {
    JobStatus.PENDING: AttemptStatus.PENDING,
    JobStatus.RUNNING: AttemptStatus.RUNNING,
    JobStatus.SUCCEEDED: AttemptStatus.SUCCEEDED,
    JobStatus.FAILED: AttemptStatus.FAILED,
    JobStatus.STOPPED: AttemptStatus.STOPPED,
}


@dataclass(frozen=True, slots=True)
class Subject:
    """A run with its config, and its newest attempt; `cluster` None: nothing to ask Ray."""

    run: Run
    attempt: Attempt | None = None
    cluster: ClusterAccess | None = None
    secrets: JobSecrets = field(default_factory=JobSecrets)
    code: JobCode = field(default_factory=JobCode)

    @property
    def wants_stop(self) -> bool:
        return self.run.desired_status is DesiredStatus.STOP

    @property
    def is_submitting(self) -> bool:
        return self.attempt is not None and self.attempt.status is AttemptStatus.SUBMITTING


@dataclass(frozen=True, slots=True)
class Sighting:
    """What Ray said. All None: it was not asked, or was and has no such job.

    `session`: the head's session, asked for while submitting and when it knew no such job.
    `refusal`: there is no job, and none can be made. `trouble`: no usable answer, so nothing is
    known.
    """

    job: JobInfo | None = None
    session: str | None = None
    refusal: Refusal | None = None
    trouble: RayError | None = None


class AttemptsReconciler(Reconciler[Subject, Sighting]):
    """Reconciles runs. `poll`: the pause between two looks at one."""

    model = Run

    def __init__(
        self,
        gateways: Gateways,
        packages: Packages,
        *,
        addresses: Addresses,
        runs_dir: Path,
        poll: timedelta,
    ) -> None:
        self._gateways = gateways
        self._packages = packages
        self._addresses = addresses
        self._runs_dir = runs_dir
        self._poll = poll

    async def load(self, session: ReadSession, row_id: UUID) -> Subject:
        options = [selectinload(Run.config), selectinload(Run.cluster)]
        run = await session.get_one(Run, row_id, options=options)
        attempt = await _newest_attempt(session, run)
        if attempt is None or attempt.status in ATTEMPT_ENDED or run.cluster is None:
            return Subject(run)
        is_submitting = attempt.status is AttemptStatus.SUBMITTING
        found = await load_secrets(session, run, attempt, is_submitting=is_submitting)
        code = await load_code(session, run) if is_submitting else JobCode()
        return Subject(run, attempt, await registry.access(session, run.cluster), found, code)

    async def observe(self, subject: Subject) -> Sighting:
        if subject.attempt is None or subject.cluster is None:
            return Sighting()
        try:
            gateway = self._gateways.get(subject.cluster)
            if subject.is_submitting and not subject.wants_stop:
                found = await self._submit(gateway, subject, subject.attempt)
            else:
                found = await _look(gateway, subject, subject.attempt.submission_id)
        except RayError as trouble:
            found = Sighting(trouble=trouble)
        return _masked(found, subject.secrets)

    async def apply(
        self, session: WriteSession, subject: Subject, observed: Sighting, *, now: datetime
    ) -> datetime | None:
        run = await session.get_one(Run, subject.run.id)
        if run.status in ENDED:
            return None
        if run.status is RunStatus.QUEUED:
            return await self._admit(session, run, now)
        attempt = await _newest_attempt(session, run)
        assert attempt is not None
        if attempt.status not in ATTEMPT_ENDED:
            self._note_trouble(run, observed, now)
            if subject.is_submitting and observed.job is not None:
                await secrets.note_use(session, subject.secrets.ids, now)
            _follow(session, run, attempt, subject=subject, observed=observed, now=now)
        if attempt.status in ATTEMPT_ENDED and await _log_is_done(session, attempt, now):
            await _end(session, run, attempt, now)
            return None
        return now + self._poll

    async def _admit(self, session: WriteSession, run: Run, now: datetime) -> datetime | None:
        if run.desired_status is DesiredStatus.STOP:
            move(session, run, RunStatus.STOPPED, at=now, reason="stopped_while_queued")
            return None
        found = await _barriers(session, run)
        if found:
            message = f"{found[0].message}: {found[0].fix}"
            move(session, run, RunStatus.FAILED, at=now, reason="not_allowed", message=message)
            return None
        wait = await find_wait(session, run)
        if wait is not None:
            run.status_reason = wait.reason
            return now + self._poll * min(wait.position or _SLOWEST_POLLS, _SLOWEST_POLLS)
        attempt = await _start_attempt(session, run, now)
        if run.cluster is not None and self._addresses.of(run.cluster.kind) is not None:
            await job_tracking.give_token(session, run, attempt)
        return now

    @staticmethod
    def _note_trouble(run: Run, observed: Sighting, now: datetime) -> None:
        if observed.trouble is None:
            conditions.clear_condition(run, conditions.UNREACHABLE)
        else:
            message = observed.trouble.message
            conditions.raise_condition(run, conditions.UNREACHABLE, message, at=now)

    async def _submit(self, gateway: RayGateway, subject: Subject, attempt: Attempt) -> Sighting:
        """Only the submit itself can be refused; every other error of Ray leaves things open."""
        refusal = subject.secrets.refusal or subject.code.refusal
        if refusal is not None:
            return await _unless_there(gateway, attempt, refusal)
        try:
            job = job_of(subject.run, attempt, self._runs_dir)
            given = subject.secrets.environment()
            tracking = self._tracking(subject, given)
        except KeyMissing as error:
            return await _unless_there(gateway, attempt, failures.no_secrets(error))
        except (SkydeckError, KeyError, TypeError, ValueError) as error:
            return await _unless_there(gateway, attempt, failures.not_built(error))
        session = (await gateway.cluster()).session_name
        try:
            await write_files(job)
            package = await self._packages.deliver(gateway, job, subject.code.upload)
            found = await gateway.submit(
                submission_id=job.submission_id,
                entrypoint=job.entrypoint,
                # Ours last: no secret can take their names.
                env_vars={**job.own_environment, **given, **tracking, **job.environment},
                metadata=job.metadata,
                package=package,
            )
        except OSError as error:
            return await _unless_there(gateway, attempt, failures.not_written(job.folder, error))
        except (Conflict, Invalid) as error:
            return await _unless_there(gateway, attempt, failures.no_code(error))
        except RayRefused as error:
            return Sighting(refusal=failures.refused_by_ray(error))
        return Sighting(job=found, session=session)

    def _tracking(self, subject: Subject, given: Mapping[str, str]) -> dict[str, str]:
        assert subject.cluster is not None
        url = self._addresses.of(subject.cluster.kind)
        own = subject.run.config.values.get("job.environment") or {}
        return job_tracking.environment(url, subject.secrets.run_token, taken={*own, *given})


async def _barriers(session: WriteSession, run: Run) -> list[policy.Barrier]:
    """What its cluster's administrator does not allow (any more), but for an embedded one's rest.

    While that is off, runs wait: they were allowed, and it may come back.
    """
    await session.refresh(run, ["config", "cluster"])
    if run.cluster is None:
        return []
    found = policy.barriers(run.cluster, run.config.recipe, run.config.values)
    return [barrier for barrier in found if barrier.rule != policy.EMBEDDED_OFF]


def _masked(found: Sighting, known: JobSecrets) -> Sighting:
    """What Ray said, without secrets: it quotes the log, and a job's environment if that fails."""
    return Sighting(
        job=known.mask_job(found.job),
        session=found.session,
        refusal=known.mask_refusal(found.refusal),
        trouble=known.mask_trouble(found.trouble),
    )


async def _unless_there(gateway: RayGateway, attempt: Attempt, refusal: Refusal) -> Sighting:
    """A refusal of ours, unless an earlier submit went through, with a worker that died then."""
    found = await gateway.find_job(attempt.submission_id)
    if found is None:
        return Sighting(refusal=refusal)
    return Sighting(job=found, session=(await gateway.cluster()).session_name)


async def _look(gateway: RayGateway, subject: Subject, submission_id: str) -> Sighting:
    found = await gateway.find_job(submission_id)
    session = None
    if found is None or subject.is_submitting:
        session = (await gateway.cluster()).session_name
    if found is not None and subject.wants_stop and not found.status.is_final:
        # Asked at each look: Ray says yes to a stop of a pending job, and forgets it.
        await gateway.stop(submission_id)
    return Sighting(job=found, session=session)


async def _newest_attempt(session: AsyncSession, run: Run) -> Attempt | None:
    query = select(Attempt).where(Attempt.run_id == run.id).order_by(Attempt.number.desc())
    return await session.scalar(query.limit(1))


async def _start_attempt(session: WriteSession, run: Run, now: datetime) -> Attempt:
    """Commits to the submission id before anything is submitted under it."""
    before = await _newest_attempt(session, run)
    for kind in (conditions.LOG_LOST, conditions.METRICS_INCOMPLETE):
        conditions.clear_condition(run, kind)
    number = before.number + 1 if before else 1
    attempt = Attempt(
        id=new_id(),
        run_id=run.id,
        number=number,
        submission_id=submission_id(run, number),
        status=AttemptStatus.CREATED,
        created_at=now,
    )
    session.add(attempt)
    move(session, run, RunStatus.SUBMITTING, at=now, reason="admitted")
    move_attempt(session, run, attempt, AttemptStatus.SUBMITTING, at=now, reason="admitted")
    return attempt


def _follow(
    session: WriteSession,
    run: Run,
    attempt: Attempt,
    *,
    subject: Subject,
    observed: Sighting,
    now: datetime,
) -> None:
    """Brings an attempt that had not ended to what was seen of its job."""
    if observed.trouble is not None:
        return
    if observed.refusal is not None:
        _refused(session, run, attempt, refusal=observed.refusal, now=now)
    elif observed.job is not None:
        _seen(session, run, attempt, observed=observed, stops=subject.wants_stop, now=now)
    elif observed.session is not None:
        _missing(session, run, attempt, current=observed.session, now=now)


def _seen(
    session: WriteSession,
    run: Run,
    attempt: Attempt,
    *,
    observed: Sighting,
    stops: bool,
    now: datetime,
) -> None:
    job = observed.job
    assert job is not None
    if attempt.status is AttemptStatus.SUBMITTING:
        conditions.clear_condition(run, conditions.NOT_SUBMITTED)
        attempt.ray_session = observed.session
        session.add(_log_of(run, attempt, now))
    attempt.exit_code = job.driver_exit_code
    to = _OF_JOB[job.status]
    if to is AttemptStatus.FAILED:
        attempt.failure = failures.job_failed(job)
    if stops and to not in ATTEMPT_ENDED:
        to = AttemptStatus.STOPPING
    if to is attempt.status:
        return
    move_attempt(session, run, attempt, to, at=now, reason="observed")
    if to not in ATTEMPT_ENDED:
        move(session, run, RunStatus(to), at=now, reason="observed")


def _missing(
    session: WriteSession, run: Run, attempt: Attempt, *, current: str, now: datetime
) -> None:
    """Ray answers and has no such job."""
    if attempt.status is AttemptStatus.SUBMITTING:
        # Only asked instead of submitting when the run is to stop: nothing was started.
        to, reason = AttemptStatus.STOPPED, "stopped_before_submit"
    elif attempt.ray_session == current:
        to, reason = AttemptStatus.LOST, "job_deleted"
        attempt.failure = failures.job_forgotten(attempt.submission_id)
    else:
        to, reason = AttemptStatus.LOST, "head_restarted"
        attempt.failure = failures.head_restarted(attempt.ray_session or "unknown", current)
    move_attempt(session, run, attempt, to, at=now, reason=reason)


def _refused(
    session: WriteSession, run: Run, attempt: Attempt, *, refusal: Refusal, now: datetime
) -> None:
    kind = conditions.NOT_SUBMITTED
    conditions.raise_condition(run, kind, refusal.message, at=now)
    run.status_reason = refusal.message
    if refusal.is_final or conditions.is_older(run, kind, SUBMIT_PATIENCE, now=now):
        attempt.failure = refusal.failure
        move_attempt(session, run, attempt, AttemptStatus.FAILED, at=now, reason="refused")


def _log_of(run: Run, attempt: Attempt, now: datetime) -> LogStream:
    return LogStream(
        id=new_id(),
        run_id=run.id,
        attempt_id=attempt.id,
        attempt_number=attempt.number,
        due_at=now,
    )


async def _log_is_done(session: WriteSession, attempt: Attempt, now: datetime) -> bool:
    stream = await _log_of_attempt(session, attempt)
    if stream is None or stream.is_complete:
        return True
    # A long log takes its time; one of which nothing more comes must not hold its run for ever.
    moments = (attempt.ended_at, stream.updated_at)
    return now > max(moment for moment in moments if moment is not None) + LOG_WAIT


async def _end(session: WriteSession, run: Run, attempt: Attempt, now: datetime) -> None:
    if attempt.status is AttemptStatus.FAILED and attempt.ray_session is not None:
        attempt.failure = await _final_failure(session, attempt)
    message = attempt.failure["message"] if attempt.failure else ""
    for kind in (conditions.UNREACHABLE, conditions.NOT_SUBMITTED):
        conditions.clear_condition(run, kind)
    await users.forget_run_tokens(session, run.id)
    reason = "attempt_ended"
    move(session, run, RunStatus(attempt.status), at=now, reason=reason, message=message)


async def _final_failure(session: WriteSession, attempt: Attempt) -> dict[str, Any] | None:
    """What the whole log says of a job that ran; until then Ray's own words had to do."""
    stream = await _log_of_attempt(session, attempt)
    if stream is None or attempt.failure is None:
        return attempt.failure
    tail = await logs.read_tail(session, stream.id, MAX_TAIL_BYTES)
    return failures.from_log(attempt.failure, tail, exit_code=attempt.exit_code)


async def _log_of_attempt(session: WriteSession, attempt: Attempt) -> LogStream | None:
    query = select(LogStream).where(LogStream.attempt_id == attempt.id)
    found: LogStream | None = await session.scalar(query)
    return found
