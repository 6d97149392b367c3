"""What MLflow's REST API calls runs, metrics and experiments: our things in its words. Pure.

Source: MLflow's `service.proto`, as its Python client reads it.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from app.metrics.columns import Columns
from app.models import Experiment, MetricSeries, Run, RunOrigin, RunStatus

Json = dict[str, Any]
ARTIFACTS = "skydeck"
_STATUSES = {
    RunStatus.SUCCEEDED: "FINISHED",
    RunStatus.FAILED: "FAILED",
    RunStatus.LOST: "FAILED",
    RunStatus.STOPPED: "KILLED",
    RunStatus.QUEUED: "SCHEDULED",
    RunStatus.SUBMITTING: "SCHEDULED",
    RunStatus.PENDING: "SCHEDULED",
}
ENDS = {
    "FINISHED": RunStatus.SUCCEEDED,
    "FAILED": RunStatus.FAILED,
    "KILLED": RunStatus.STOPPED,
}


def experiment(row: Experiment, *, name: str | None = None, is_own: bool = False) -> Json:
    """`name`: what the caller calls it, where that is another one.

    `is_own`: the caller's run is in it. To that it is no deleted one, whatever became of it.
    """
    return {
        "experiment_id": row.slug,
        "name": name or row.name,
        "artifact_location": f"{ARTIFACTS}:/{row.slug}",
        "lifecycle_stage": "active" if is_own or row.archived_at is None else "deleted",
        "creation_time": _milliseconds(row.created_at),
        "last_update_time": _milliseconds(row.created_at),
        "tags": [],
    }


def run(
    row: Run,
    *,
    series: Iterable[MetricSeries] = (),
    params: Mapping[str, str] | None = None,
    tags: Mapping[str, str] | None = None,
) -> Json:
    """`row` is loaded with its experiment."""
    shown = {"mlflow.runName": row.name, "mlflow.user": row.owner} | dict(tags or {})
    return {
        "info": info(row),
        "data": {
            "metrics": [metric(each) for each in series],
            "params": _pairs(params or {}),
            "tags": _pairs(shown),
        },
        "inputs": {},
    }


def info(row: Run) -> Json:
    found: Json = {
        "run_id": row.slug,
        "run_uuid": row.slug,
        "run_name": row.name,
        "experiment_id": row.experiment.slug,
        "user_id": row.owner,
        "status": _STATUSES.get(row.status, "RUNNING"),
        "start_time": _milliseconds(row.started_at or row.created_at),
        "artifact_uri": f"{ARTIFACTS}:/{row.experiment.slug}/{row.slug}",
        "lifecycle_stage": "active" if row.deleted_at is None else "deleted",
    }
    if row.ended_at is not None:
        found["end_time"] = _milliseconds(row.ended_at)
    return found


def metric(series: MetricSeries) -> Json:
    """The newest value. A last value that is not finite is not told apart here."""
    value = "NaN" if series.last is None else series.last
    return {"key": series.key, "value": value, "timestamp": 0, "step": series.last_step or 0}


def history(key: str, columns: Columns) -> list[Json]:
    """Points in the order of their steps; NaN and infinities as protobuf's JSON says them."""
    return [
        {"key": key, "value": _number(value), "timestamp": round(time * 1000), "step": step}
        for step, value, time in zip(
            columns.steps.tolist(), columns.numbers(), columns.times.tolist(), strict=True
        )
    ]


def is_ours(row: Run) -> bool:
    """Whether a worker decides its status, and no client."""
    return row.origin is RunOrigin.SUBMITTED


def _pairs(values: Mapping[str, str]) -> list[Json]:
    return [{"key": key, "value": value} for key, value in values.items()]


def _number(value: float) -> float | str:
    if value - value == 0:
        return value
    return "NaN" if value != value else ("Infinity" if value > 0 else "-Infinity")


def _milliseconds(at: datetime) -> int:
    return round(at.timestamp() * 1000)
