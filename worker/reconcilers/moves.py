"""What the worker changes and notes: each with its event in the same transaction."""

from datetime import datetime

from app.db import WriteSession
from app.models import Attempt, AttemptStatus, Event, Run, RunStatus
from app.runs.states import transition, transition_attempt

ACTOR = "worker"


def move(
    session: WriteSession,
    run: Run,
    to: RunStatus,
    *,
    at: datetime,
    reason: str,
    message: str = "",
) -> None:
    """Raises `WrongTransition`."""
    session.add(transition(run, to, at=at, actor=ACTOR, reason=reason, message=message))


def move_attempt(
    session: WriteSession,
    run: Run,
    attempt: Attempt,
    to: AttemptStatus,
    *,
    at: datetime,
    reason: str,
) -> None:
    """The event's message is the attempt's failure, if it has one. Raises `WrongTransition`."""
    message = attempt.failure["message"] if attempt.failure else ""
    session.add(
        transition_attempt(run, attempt, to, at=at, actor=ACTOR, reason=reason, message=message)
    )


def note(run: Run, attempt_number: int, *, kind: str, at: datetime, message: str) -> Event:
    """An event to store that changes no status."""
    return Event(
        run_id=run.id,
        attempt_number=attempt_number,
        at=at,
        actor=ACTOR,
        kind=kind,
        reason=kind,
        message=message,
    )
