"""The embedded head and its gateway, against one real Ray head."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from app.ray.client import RayClient
from app.ray.embedded import EmbeddedHead
from app.ray.errors import RayNotSignedIn
from app.ray.gateway import JobStatus
from app.ray.head_state import HeadPhase, read_head_state
from app.ray.logs import job_log_path, read_log_file
from app.ray.memory import memory_of_head
from tests.ray.plugin import POISON, RunningHead, until_final

pytestmark = [pytest.mark.ray, pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture
async def client(ray_head: RunningHead) -> AsyncIterator[RayClient]:
    opened = ray_head.client()
    yield opened
    await opened.aclose()


def test_it_is_ready_within_90_seconds(ray_head: RunningHead) -> None:
    assert ray_head.state.phase is HeadPhase.READY
    assert ray_head.start_seconds < 90


async def test_a_job_runs_and_its_log_is_read_by_offset(
    ray_head: RunningHead, client: RayClient
) -> None:
    info = await client.cluster()
    assert info.session_name == ray_head.state.session_name
    assert info.session_dir == ray_head.state.session_dir
    await client.submit(submission_id="log-a1", entrypoint="echo begin; env; echo end; exit 3")
    job = await until_final(client, "log-a1")
    assert (job.status, job.driver_exit_code) == (JobStatus.FAILED, 3)

    assert info.session_dir is not None
    file = job_log_path(info.session_dir, "log-a1")
    log = b""
    while part := await read_log_file(file, offset=len(log), limit=100):
        log += part
    lines = log.decode().splitlines()
    printed = lines[lines.index("begin") : lines.index("end")]
    assert not [line for line in printed if line.startswith("SKYDECK_")]
    assert not [line for line in printed if line.partition("=")[2] in POISON.values()]


async def test_a_stop_sends_sigterm_to_the_entrypoint(client: RayClient, tmp_path: Path) -> None:
    began, told = tmp_path / "began", tmp_path / "told"
    script = f"trap 'touch {told}; exit 0' TERM; touch {began}; sleep 100 & wait"
    await client.submit(submission_id="stop-a1", entrypoint=script)
    async with asyncio.timeout(60):
        while not began.exists():  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(0.1)
    assert await client.stop("stop-a1") is True
    assert (await until_final(client, "stop-a1")).status is JobStatus.STOPPED
    assert told.exists()


async def test_the_same_id_never_starts_twice(client: RayClient, tmp_path: Path) -> None:
    counted = tmp_path / "counted"
    first, second = await asyncio.gather(
        *(client.submit(submission_id="once-a1", entrypoint=f"echo x >> {counted}") for _ in "12")
    )
    assert first.submission_id == second.submission_id
    assert (await until_final(client, "once-a1")).status is JobStatus.SUCCEEDED
    assert counted.read_text() == "x\n"
    await client.delete("once-a1")
    assert await client.find_job("once-a1") is None


async def test_it_is_found_again(ray_head: RunningHead) -> None:
    again = await EmbeddedHead(ray_head.home).ensure_running()
    assert again.leader == ray_head.state.leader
    assert again.session_name == ray_head.state.session_name
    assert read_head_state(ray_head.home) == again


async def test_the_token_is_demanded(ray_head: RunningHead) -> None:
    async with httpx.AsyncClient() as http:
        answer = await http.get(f"{ray_head.state.address}/api/jobs/")
        assert answer.status_code == 401
    stranger = RayClient.embedded(ray_head.state.address, token="0" * 64)
    with pytest.raises(RayNotSignedIn):
        await stranger.cluster()
    with pytest.raises(RayNotSignedIn):
        await stranger.submit(submission_id="evil", entrypoint="true")
    await stranger.aclose()


def test_memory_is_told_by_process(ray_head: RunningHead) -> None:
    memory = memory_of_head(ray_head.state)
    names = {entry.name for entry in memory}
    assert {"gcs_server", "raylet", "head_process.py"} <= names
    assert all(0 < entry.pss_bytes <= entry.rss_bytes for entry in memory)
    assert sum(entry.pss_bytes for entry in memory) < 1.5e9


def test_the_token_is_readable_by_its_owner_only(ray_head: RunningHead) -> None:
    file = ray_head.home / "ray" / "token"
    assert file.stat().st_mode & 0o777 == 0o600
    assert ray_head.token not in (ray_head.home / "ray" / "head.json").read_text()
