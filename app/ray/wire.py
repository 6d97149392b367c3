"""Ray's JSON (dashboard REST, Ray 2.57 to 2.60) to our values. Pure functions."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from app.ray.gateway import ClusterInfo, JobInfo, JobStatus, NodeInfo


def job_info(body: Mapping[str, Any]) -> JobInfo:
    """From `GET /api/jobs/{id}`. Times on the wire are milliseconds since 1970."""
    return JobInfo(
        submission_id=body["submission_id"],
        status=JobStatus(body["status"]),
        entrypoint=body.get("entrypoint") or "",
        message=body.get("message") or "",
        error_type=body.get("error_type"),
        started_at=_moment(body.get("start_time")),
        ended_at=_moment(body.get("end_time")),
        driver_exit_code=body.get("driver_exit_code"),
        driver_node_id=body.get("driver_node_id"),
        metadata=body.get("metadata") or {},
    )


def job_list(body: list[Mapping[str, Any]]) -> list[JobInfo]:
    """From `GET /api/jobs/`: those submitted as jobs, the newest first. Drivers that somebody
    started by hand have no submission id and are left out.
    """
    jobs = [row for row in body if row.get("submission_id")]
    jobs.sort(key=lambda row: row.get("start_time") or 0, reverse=True)
    return [job_info(row) for row in jobs]


def version(text: str) -> tuple[int, ...]:
    """Major and minor number, such as (2, 60); (0,) for a text that is no version."""
    try:
        return tuple(int(part) for part in text.split(".")[:2])
    except ValueError:
        return (0,)


def cluster_info(version: Mapping[str, Any], nodes: list[NodeInfo]) -> ClusterInfo:
    """From `GET /api/version`; the session folder is the head node's."""
    head = next((node for node in nodes if node.is_head), None)
    return ClusterInfo(
        ray_version=version["ray_version"],
        session_name=version["session_name"],
        session_dir=head.session_dir if head else None,
    )


def node_list(body: Mapping[str, Any]) -> list[NodeInfo]:
    """From `GET /nodes?view=summary`. A node whose agent has not reported yet is left out."""
    return [_node(row) for row in body["data"]["summary"] if row.get("raylet")]


def last_line(text: str) -> str:
    """The last line that says something, of a traceback the error; cut at 500 characters."""
    lines = [line.strip() for line in text.replace("\0", "").splitlines()]
    return next((line[:500] for line in reversed(lines) if len(line) > 1), "")


def _node(row: Mapping[str, Any]) -> NodeInfo:
    raylet = row["raylet"]
    total = raylet.get("resourcesTotal") or {}
    memory = row.get("mem") or [0, 0, 0, 0]  # total, available, percent, used
    session_dir = raylet.get("sessionDir")
    return NodeInfo(
        node_id=raylet["nodeId"],
        address=raylet.get("nodeManagerAddress") or row.get("ip") or "",
        hostname=row.get("hostname") or raylet.get("nodeManagerHostname") or "",
        is_head=bool(raylet.get("isHeadNode")),
        is_alive=raylet.get("state") == "ALIVE",
        cpu_count=float(total.get("CPU", 0)),
        gpu_count=float(total.get("GPU", 0)),
        cpu_percent=float(row.get("cpu") or 0),
        memory_total_bytes=int(memory[0]),
        memory_used_bytes=int(memory[3]),
        session_dir=Path(session_dir) if session_dir else None,
    )


def _moment(milliseconds: int | None) -> datetime | None:
    return datetime.fromtimestamp(milliseconds / 1000, UTC) if milliseconds else None
