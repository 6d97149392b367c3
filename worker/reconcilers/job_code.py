"""The package that a job's working directory is made of, brought to the job's cluster."""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from app.code import package
from app.code import service as code
from app.db import Database, ReadSession
from app.errors import NotFound
from app.models import CodeUpload, Run
from app.ray.gateway import RayGateway
from worker.reconcilers import failures
from worker.reconcilers.failures import Refusal
from worker.reconcilers.job import Job

_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class JobCode:
    """The uploaded zip that a run takes along, if it does; `refusal` says why it cannot."""

    upload: CodeUpload | None = None
    refusal: Refusal | None = None


async def load_code(session: ReadSession, run: Run) -> JobCode:
    """For a run with its config loaded."""
    try:
        return JobCode(await code.find_for_job(session, run.project_id, run.config.values))
    except NotFound as error:
        return JobCode(refusal=failures.no_code(error))


class Packages:
    """Makes packages on the disk of `home` and uploads each to a cluster once."""

    def __init__(self, database: Database, home: Path) -> None:
        self._database = database
        self._home = home

    async def deliver(self, gateway: RayGateway, job: Job, upload: CodeUpload | None) -> str | None:
        """The name of the job's package, which the cluster has now; None for a job without one.

        Raises `RayError`, `OSError`, and `Conflict` or `Invalid` where no package can be made.
        """
        if not job.is_packed:
            return None
        sha256 = upload.sha256 if upload else None
        parts = package.digest(job.files, sha256=sha256, excludes=job.excludes)
        name = f"_ray_pkg_{parts[:40]}.zip"
        if not await gateway.has_package(name):
            await self._upload(gateway, name, job, upload)
        return name

    async def _upload(
        self, gateway: RayGateway, name: str, job: Job, upload: CodeUpload | None
    ) -> None:
        with await asyncio.to_thread(_open, self._home) as file:
            await code.pack(self._database, upload, file, files=job.files, excludes=job.excludes)
            size = await asyncio.to_thread(file.seek, 0, 2)
            await gateway.put_package(name, _pieces(file), size_bytes=size)


def _open(home: Path) -> BinaryIO:
    return tempfile.TemporaryFile(dir=home)


async def _pieces(file: BinaryIO) -> AsyncIterator[bytes]:
    await asyncio.to_thread(file.seek, 0)
    while piece := await asyncio.to_thread(file.read, _PIECE):
        yield piece
