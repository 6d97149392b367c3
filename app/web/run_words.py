"""What a run's status says in words. Pure: everything it needs is handed in."""

from datetime import datetime, timedelta

from app.models import ClusterStatus, DesiredStatus, Run, RunStatus
from app.runs.shown import ShownRun
from app.web.filters import duration

_WAITING = {
    RunStatus.SUBMITTING: "Submitting: being handed to the cluster",
    RunStatus.PENDING: "Pending: accepted by the cluster, starting",
    RunStatus.WAITING_RETRY: "Waiting before the next attempt",
}
_ENDED = {
    RunStatus.SUCCEEDED: "Succeeded",
    RunStatus.FAILED: "Failed",
    RunStatus.STOPPED: "Stopped",
    RunStatus.LOST: "Lost: the cluster no longer knows the job",
}


def status_words(
    run: Run,
    *,
    position: int | None,
    pushed_step: int | None = None,
    sweep_limit: int | None = None,
) -> str:
    """One line that begins with the status: `Running step 84 of 200 · 0.31 s a step`.

    `position` is the run's place in its cluster's queue, if it waits there. `pushed_step` is the
    newest step of the points of a run that nobody here follows. `sweep_limit` is how many runs its
    sweep may have under way, if that is what it waits for.
    """
    step = pushed_step if run.step is None else run.step
    if run.status is RunStatus.QUEUED:
        return f"Queued · {queue_words(run, position=position, sweep_limit=sweep_limit)}"
    if run.status is RunStatus.STOPPING or (_is_asked_to_stop(run) and run.status not in _ENDED):
        return "Stopping: it saves a checkpoint first" + _step(run, step)
    if run.status is RunStatus.RUNNING:
        return _running(run, step)
    if run.status in _ENDED:
        return _ended(run, step)
    return _WAITING[run.status]


def queue_words(
    run: Run | ShownRun, *, position: int | None, sweep_limit: int | None = None
) -> str:
    """Why a queued run waits: `waits, position 2`."""
    if _is_asked_to_stop(run):
        return "stopping before it started"
    cluster = run.cluster
    if cluster is not None and cluster.status is not ClusterStatus.READY:
        is_starting = cluster.status is ClusterStatus.STARTING
        return "waits for the cluster to start" if is_starting else "waits for the cluster"
    if sweep_limit is not None:
        return f"waits: its sweep runs {sweep_limit} at a time"
    if position is None or position <= 1:
        return "starts next"
    return f"waits, position {position}"


def ends_at(run: Run) -> datetime | None:
    """When a running run ends at its present pace; None where that is not known."""
    is_moving = run.status is RunStatus.RUNNING and not _is_asked_to_stop(run)
    if not is_moving or run.step is None or not run.total_steps or not run.seconds_per_step:
        return None
    left = max(0, run.total_steps - run.step) * run.seconds_per_step
    return (run.progress_at or run.created_at) + timedelta(seconds=left)


def seconds_taken(run: Run, now: datetime) -> float | None:
    """From its start to its end, or until now; None before it starts."""
    if run.started_at is None:
        return None
    return max(0.0, ((run.ended_at or now) - run.started_at).total_seconds())


def _running(run: Run, step: int | None) -> str:
    if step is None:
        return f"Running: {run.phase}" if run.phase else "Running: no step yet"
    of_total = f" of {run.total_steps:,}" if run.total_steps else ""
    pace = f" · {duration(run.seconds_per_step)} a step" if run.seconds_per_step else ""
    return f"Running step {step:,}{of_total}{pace}"


def _ended(run: Run, step: int | None) -> str:
    taken = ""
    if run.started_at and run.ended_at:
        taken = f" after {duration((run.ended_at - run.started_at).total_seconds())}"
    place = "" if run.status is RunStatus.SUCCEEDED else _step(run, step)
    return _ENDED[run.status] + taken + place


def _step(run: Run, step: int | None) -> str:
    if step is None:
        return ""
    return f" · at step {step:,}" + (f" of {run.total_steps:,}" if run.total_steps else "")


def _is_asked_to_stop(run: Run | ShownRun) -> bool:
    return run.desired_status is DesiredStatus.STOP
