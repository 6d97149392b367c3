"""What is said beside a run's status: `{kind, since, message}`, at most one of a kind."""

from datetime import datetime, timedelta
from typing import Any

from app.models import Run

UNREACHABLE = "unreachable"
NOT_SUBMITTED = "not_submitted"
LOG_LOST = "log_lost"
METRICS_INCOMPLETE = "metrics_incomplete"


def raise_condition(run: Run, kind: str, message: str, *, at: datetime) -> None:
    """Says it, from `at` on; one that was raised before keeps its time."""
    old = _find(run, kind)
    since = old["since"] if old else at.isoformat()
    _put(run, kind, {"kind": kind, "since": since, "message": message})


def clear_condition(run: Run, kind: str) -> None:
    """Stops saying it; fine if nobody did."""
    if _find(run, kind):
        _put(run, kind, None)


def is_older(run: Run, kind: str, age: timedelta, *, now: datetime) -> bool:
    """Whether it has been said for `age`."""
    found = _find(run, kind)
    return found is not None and now >= datetime.fromisoformat(found["since"]) + age


def _find(run: Run, kind: str) -> dict[str, Any] | None:
    return next((item for item in run.conditions if item["kind"] == kind), None)


def _put(run: Run, kind: str, item: dict[str, Any] | None) -> None:
    # A new list: a JSON column that is changed in place is not noticed.
    others = [other for other in run.conditions if other["kind"] != kind]
    run.conditions = [*others, item] if item else others
