"""What Skydeck asks of a Ray cluster: the Protocol, and the values that cross it."""

import re
from collections.abc import AsyncIterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Protocol

# Ray finds a package in its store by a name of this form.
PACKAGE = re.compile(r"_ray_pkg_[0-9a-f]{32,64}\.zip")
# Ray does not check ids itself: `a/b` makes a record that no URL can reach (Ray 2.60).
SUBMISSION_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")


class JobStatus(StrEnum):
    """Ray's own words for the state of a job."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    STOPPED = "STOPPED"

    @property
    def is_final(self) -> bool:
        """Whether the job has ended for good."""
        return self in (JobStatus.SUCCEEDED, JobStatus.FAILED, JobStatus.STOPPED)


@dataclass(frozen=True, slots=True)
class JobInfo:
    """One job as Ray reports it. Times are aware UTC.

    `message` may hold the last lines of the log (up to 20,000 characters). `driver_exit_code` is
    None while it runs, and after a stop. `driver_node_id` is the node that holds the log file.
    """

    submission_id: str
    status: JobStatus
    entrypoint: str
    message: str = ""
    error_type: str | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    driver_exit_code: int | None = None
    driver_node_id: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NodeInfo:
    """One machine of a cluster. CPU and GPU counts are what Ray offers, not what is free."""

    node_id: str
    address: str
    hostname: str
    is_head: bool
    is_alive: bool
    cpu_count: float
    gpu_count: float
    cpu_percent: float
    memory_total_bytes: int
    memory_used_bytes: int
    session_dir: Path | None = None


@dataclass(frozen=True, slots=True)
class ClusterInfo:
    """The head. `session_name` changes at each head start, so it tells a restart.

    `session_dir` is the head's folder on its own machine; None until the head node reports.
    """

    ray_version: str
    session_name: str
    session_dir: Path | None = None


class RayGateway(Protocol):
    """A Ray cluster. Each call may raise `RayUnreachable` or `RayNotSignedIn`.

    Only a change can be refused: what a cluster in trouble answers to a read is no verdict.
    """

    async def submit(
        self,
        *,
        submission_id: str,
        entrypoint: str,
        env_vars: Mapping[str, str] | None = None,
        metadata: Mapping[str, str] | None = None,
        package: str | None = None,
    ) -> JobInfo:
        """Starts `entrypoint` (a shell command) under our id, or finds the job already there.

        It starts in a folder that holds the content of `package`, if it has one.

        Safe to repeat: the same id never starts twice. Raises `JobIdTaken` if the id belongs to
        another entrypoint, `RayRefused` if Ray does not take it and has no such job either. After
        `RayUnreachable` the job may or may not exist: call again with the same id.
        """
        ...

    async def has_package(self, name: str) -> bool:
        """Whether the cluster has a package of this name; it then keeps it for ten minutes more."""
        ...

    async def put_package(
        self, name: str, pieces: AsyncIterable[bytes], *, size_bytes: int
    ) -> None:
        """Uploads a zip that jobs can be given as `package`; Ray deletes it after its last job.

        Raises `RayRefused` for one that is too large for the cluster (100 MiB).
        """
        ...

    async def get_job(self, submission_id: str) -> JobInfo:
        """The job; raises `JobNotFound`."""
        ...

    async def find_job(self, submission_id: str) -> JobInfo | None:
        """The job, or None."""
        ...

    async def list_jobs(self) -> list[JobInfo]:
        """All submitted jobs that the head remembers, anybody's, the newest first. Call rarely."""
        ...

    async def tail_log(self, job: JobInfo, *, lines: int) -> bytes:
        """The last `lines` lines of the job's log (-1: all), its bytes as they are.

        Empty before the job has started, and where its log is gone. Never by Ray's own ways to
        read logs of jobs: one reads the whole file into three processes of the head, the other
        keeps a connection of the dashboard for each reader that leaves.
        """
        ...

    async def stop(self, submission_id: str) -> bool:
        """Asks the job to end: SIGTERM, then SIGKILL after `RAY_JOB_STOP_WAIT_TIME_S` (3 s).

        False if it had ended before. True promises nothing for a PENDING job: Ray ignores the
        stop, so ask again once it runs. Raises `JobNotFound`.
        """
        ...

    async def delete(self, submission_id: str) -> None:
        """Forgets an ended job's record (its log file stays); a job that is gone is fine.

        Raises `RayRefused` while the job has not ended.
        """
        ...

    async def cluster(self) -> ClusterInfo:
        """Version and session of the head; raises `RayVersionTooOld`."""
        ...

    async def nodes(self) -> list[NodeInfo]:
        """All nodes that the head knows, dead ones included."""
        ...

    async def aclose(self) -> None:
        """Closes connections; calls in flight are not waited for."""
        ...


def check_package(name: str) -> str:
    """The name itself; raises `ValueError` where no package can be called so."""
    if not PACKAGE.fullmatch(name):
        raise ValueError(f"not a package: {name!r} (wanted: {PACKAGE.pattern})")
    return name


def check_submission_id(submission_id: str) -> str:
    """The id itself; raises `ValueError` where Ray would make an unreachable job of it."""
    if not SUBMISSION_ID.fullmatch(submission_id):
        raise ValueError(
            f"not a submission id: {submission_id!r} (wanted: {SUBMISSION_ID.pattern})"
        )
    return submission_id
