"""Statuses of runs and attempts: the table of transitions, and the only writer of a status.

Pure: no database and no clock. Callers hold the row (a worker under its lease, or the service
that makes the run) and store the returned event in the same transaction.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import TypeVar

from app.models.run import Attempt, AttemptStatus, Event, Run, RunStatus

R = RunStatus
A = AttemptStatus
S = TypeVar("S", RunStatus, AttemptStatus)

TRANSITIONS: Mapping[RunStatus, frozenset[RunStatus]] = {
    R.QUEUED: frozenset({R.SUBMITTING, R.STOPPED, R.FAILED}),
    R.SUBMITTING: frozenset(
        {R.PENDING, R.RUNNING, R.STOPPING, R.FAILED, R.LOST, R.SUCCEEDED, R.STOPPED}
    ),
    R.PENDING: frozenset({R.RUNNING, R.STOPPING, R.SUCCEEDED, R.FAILED, R.STOPPED, R.LOST}),
    R.RUNNING: frozenset({R.STOPPING, R.SUCCEEDED, R.FAILED, R.STOPPED, R.LOST, R.WAITING_RETRY}),
    R.STOPPING: frozenset({R.STOPPED, R.SUCCEEDED, R.FAILED, R.LOST}),
    R.WAITING_RETRY: frozenset({R.QUEUED, R.STOPPED, R.FAILED}),
    R.SUCCEEDED: frozenset(),
    R.FAILED: frozenset({R.QUEUED}),
    R.STOPPED: frozenset({R.QUEUED}),
    R.LOST: frozenset({R.QUEUED}),
}
"""Allowed changes of a run. The last three rows lead back to the queue: a resume by hand."""

ATTEMPT_TRANSITIONS: Mapping[AttemptStatus, frozenset[AttemptStatus]] = {
    A.CREATED: frozenset({A.SUBMITTING, A.STOPPED, A.FAILED}),
    A.SUBMITTING: frozenset(
        {A.PENDING, A.RUNNING, A.STOPPING, A.SUCCEEDED, A.FAILED, A.STOPPED, A.LOST}
    ),
    A.PENDING: frozenset({A.RUNNING, A.STOPPING, A.SUCCEEDED, A.FAILED, A.STOPPED, A.LOST}),
    A.RUNNING: frozenset({A.STOPPING, A.SUCCEEDED, A.FAILED, A.STOPPED, A.LOST}),
    A.STOPPING: frozenset({A.STOPPED, A.SUCCEEDED, A.FAILED, A.LOST}),
    A.SUCCEEDED: frozenset(),
    A.FAILED: frozenset(),
    A.STOPPED: frozenset(),
    A.LOST: frozenset(),
}
"""Allowed changes of an attempt. An ended attempt never changes again."""

ENDED: frozenset[RunStatus] = frozenset({R.SUCCEEDED, R.FAILED, R.STOPPED, R.LOST})
ATTEMPT_ENDED: frozenset[AttemptStatus] = frozenset(
    s for s, to in ATTEMPT_TRANSITIONS.items() if not to
)


class WrongTransition(Exception):
    """A status change that the table does not allow. The row is unchanged."""


def created(run: Run, *, at: datetime, actor: str, message: str = "") -> Event:
    """The first event of a new run, whose status is given when the row is made."""
    return _event(run, None, run.status, at=at, actor=actor, reason="created", message=message)


def transition(
    run: Run, to: RunStatus, *, at: datetime, actor: str, reason: str, message: str = ""
) -> Event:
    """Changes a run's status, start and end times, and returns the event to store.

    Raises `WrongTransition` if the table does not hold the change; asking for the status that
    the run has already is one too, so that no event is written twice.
    """
    _check(run.status, to, TRANSITIONS)
    event = _event(run, run.status, to, at=at, actor=actor, reason=reason, message=message)
    run.status = to
    run.status_reason = message
    if to is R.RUNNING and run.started_at is None:
        run.started_at = at
    run.ended_at = at if to in ENDED else None
    return event


def transition_attempt(
    run: Run,
    attempt: Attempt,
    to: AttemptStatus,
    *,
    at: datetime,
    actor: str,
    reason: str,
    message: str = "",
) -> Event:
    """Changes an attempt's status, as `transition` does for a run."""
    _check(attempt.status, to, ATTEMPT_TRANSITIONS)
    event = _event(run, attempt.status, to, at=at, actor=actor, reason=reason, message=message)
    event.kind = "attempt_status"
    event.attempt_number = attempt.number
    attempt.status = to
    if to is A.RUNNING and attempt.started_at is None:
        attempt.started_at = at
    if to in ATTEMPT_ENDED:
        attempt.ended_at = at
    return event


def _check(now: S, to: S, table: Mapping[S, frozenset[S]]) -> None:
    if to not in table[now]:
        raise WrongTransition(f"{now} cannot become {to}")


def _event(
    run: Run,
    before: str | None,
    after: str,
    *,
    at: datetime,
    actor: str,
    reason: str,
    message: str,
) -> Event:
    return Event(
        run_id=run.id,
        at=at,
        actor=actor,
        kind="status",
        from_status=before,
        to_status=after,
        reason=reason,
        message=message,
    )
