"""One real Ray head for a whole test session: fixture `ray_head`.

It takes 20 to 60 s and about 800 MB, once: `tests/conftest.py` offers it everywhere. A module that
imported it would start another. Files that use it share a process: `tests/together.py`.
"""

import asyncio
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.ray.client import RayClient
from app.ray.embedded import EmbeddedHead
from app.ray.gateway import JobInfo, RayGateway
from app.ray.head_state import HeadState, read_head_token

# What must not reach the head or its jobs.
POISON = {
    "SKYDECK_HOME": "/nowhere",
    "SKYDECK_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none",
    "DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none",
    "RAY_ADDRESS": "127.0.0.1:1",
    "RAY_API_SERVER_ADDRESS": "http://127.0.0.1:1",
}
JOB_SECONDS = 120.0


@dataclass(frozen=True)
class RunningHead:
    """The head of `home`, ready; `start_seconds` is what that took."""

    home: Path
    head: EmbeddedHead
    state: HeadState
    start_seconds: float

    @property
    def token(self) -> str:
        token = read_head_token(self.home)
        assert token is not None
        return token

    def client(self) -> RayClient:
        return self.head.client()


@pytest.fixture(scope="session")
def ray_head() -> Iterator[RunningHead]:
    """A head that lives until the session ends. Do not stop it; delete nothing but your jobs."""
    home = Path(tempfile.mkdtemp(prefix="sky-", dir="/tmp"))
    head = EmbeddedHead(home, environ=dict(os.environ) | POISON)
    began = time.monotonic()
    state = asyncio.run(head.ensure_running())
    yield RunningHead(home, head, state, time.monotonic() - began)
    asyncio.run(head.stop())
    shutil.rmtree(home, ignore_errors=True)


async def until_final(client: RayGateway, submission_id: str) -> JobInfo:
    """The job once it has ended."""
    async with asyncio.timeout(JOB_SECONDS):
        while True:
            job = await client.get_job(submission_id)
            if job.status.is_final:
                return job
            await asyncio.sleep(0.1)
