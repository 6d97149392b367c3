"""A cluster in memory that keeps `RayGateway`'s contract, Ray's oddities included."""

from collections.abc import AsyncIterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from app.ray.errors import JobIdTaken, JobNotFound, RayError, RayRefused
from app.ray.gateway import (
    ClusterInfo,
    JobInfo,
    JobStatus,
    NodeInfo,
    check_package,
    check_submission_id,
)
from app.ray.logs import job_log_path

NODE = NodeInfo(
    node_id="a" * 56,
    address="127.0.0.2",
    hostname="fake",
    is_head=True,
    is_alive=True,
    cpu_count=2,
    gpu_count=0,
    cpu_percent=12.5,
    memory_total_bytes=8_000,
    memory_used_bytes=2_000,
)


@dataclass
class FakeGateway:
    """Tests move jobs along with `start` and `finish`.

    `trouble` is raised by each call while set, `refusal` by submits of new jobs. `submitted` lists
    the ids of jobs that were really started. A stop of a pending job says yes and does nothing.
    Where `session_dir` exists, a job that starts opens its log file there.
    """

    session_name: str = "session_1"
    session_dir: Path | None = None
    jobs: dict[str, JobInfo] = field(default_factory=dict)
    submitted: list[str] = field(default_factory=list)
    packages: dict[str, bytes] = field(default_factory=dict)
    packages_of: dict[str, str | None] = field(default_factory=dict)
    environments: dict[str, Mapping[str, str]] = field(default_factory=dict)
    trouble: RayError | None = None
    refusal: RayRefused | None = None

    def get(self, _access: object) -> "FakeGateway":
        """As `Gateways`: every cluster is this one."""
        return self

    def start(self, submission_id: str) -> None:
        self._set(submission_id, status=JobStatus.RUNNING)
        if self.session_dir is not None and self.session_dir.is_dir():
            file = job_log_path(self.session_dir, submission_id)
            file.parent.mkdir(exist_ok=True)
            file.touch()

    def finish(self, submission_id: str, status: JobStatus, **fields: Any) -> None:
        self._set(submission_id, status=status, **fields)

    def restart(self) -> None:
        """The head starts anew: its jobs are forgotten."""
        self.jobs.clear()
        self.session_name += "1"

    async def submit(
        self,
        *,
        submission_id: str,
        entrypoint: str,
        env_vars: Mapping[str, str] | None = None,
        metadata: Mapping[str, str] | None = None,
        package: str | None = None,
    ) -> JobInfo:
        self._check()
        check_submission_id(submission_id)
        found = self.jobs.get(submission_id)
        if found is None and self.refusal is not None:
            raise self.refusal
        if found is not None:
            if found.entrypoint != entrypoint:
                raise JobIdTaken(submission_id)
            return found
        if package is not None and package not in self.packages:
            raise RayRefused(f"there is no package {package}")
        self.submitted.append(submission_id)
        self.packages_of[submission_id] = package
        self.environments[submission_id] = env_vars or {}
        self.jobs[submission_id] = JobInfo(
            submission_id, JobStatus.PENDING, entrypoint, metadata=metadata or {}
        )
        return self.jobs[submission_id]

    async def has_package(self, name: str) -> bool:
        self._check()
        return check_package(name) in self.packages

    async def put_package(
        self, name: str, pieces: AsyncIterable[bytes], *, size_bytes: int
    ) -> None:
        self._check()
        data = b"".join([piece async for piece in pieces])
        assert len(data) == size_bytes
        self.packages[check_package(name)] = data

    async def get_job(self, submission_id: str) -> JobInfo:
        found = await self.find_job(submission_id)
        if found is None:
            raise JobNotFound(submission_id)
        return found

    async def find_job(self, submission_id: str) -> JobInfo | None:
        self._check()
        return self.jobs.get(submission_id)

    async def list_jobs(self) -> list[JobInfo]:
        self._check()
        return list(reversed(self.jobs.values()))

    async def tail_log(self, job: JobInfo, *, lines: int) -> bytes:
        self._check()
        if self.session_dir is None:
            return b""
        whole = job_log_path(self.session_dir, job.submission_id).read_bytes()
        kept = whole.splitlines(keepends=True)
        return b"".join(kept if lines < 0 else kept[-lines:])

    async def stop(self, submission_id: str) -> bool:
        job = await self.get_job(submission_id)
        if job.status is JobStatus.RUNNING:
            self.finish(submission_id, JobStatus.STOPPED)
        return not job.status.is_final

    async def delete(self, submission_id: str) -> None:
        self._check()
        job = self.jobs.get(submission_id)
        if job is not None and not job.status.is_final:
            raise RayRefused(f"job {submission_id} is {job.status}")
        self.jobs.pop(submission_id, None)

    async def cluster(self) -> ClusterInfo:
        self._check()
        return ClusterInfo("2.60.0", self.session_name, self.session_dir)

    async def nodes(self) -> list[NodeInfo]:
        self._check()
        return [NODE]

    async def aclose(self) -> None:
        return

    def _check(self) -> None:
        if self.trouble is not None:
            raise self.trouble

    def _set(self, submission_id: str, **fields: Any) -> None:
        self.jobs[submission_id] = replace(self.jobs[submission_id], **fields)
