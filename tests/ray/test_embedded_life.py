"""Deaths and neighbours of an embedded head. What happens to a head here needs one of its own."""

import asyncio
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from app.ray import processes
from app.ray.embedded import EmbeddedHead
from app.ray.errors import HeadStartError
from app.ray.gateway import JobStatus
from app.ray.head_launch import HeadLimits
from app.ray.head_state import HeadPhase, HeadState, read_head_state
from app.ray.logs import job_log_path
from tests.ray.plugin import RunningHead, until_final

pytestmark = [pytest.mark.ray, pytest.mark.slow, pytest.mark.timeout(900)]

JOIN = (
    "import ray, sys; ray.init(log_to_driver=False);"
    "print('joined', ray.get_runtime_context().gcs_address)"
)
SUPERVISE = (
    "import asyncio, sys, pathlib; from app.ray.embedded import EmbeddedHead;"
    "head = EmbeddedHead(pathlib.Path(sys.argv[1]));"
    "asyncio.run(head.ensure_running()); print('up', flush=True); asyncio.run(head.wait())"
)


@pytest.fixture
def stranger(ray_head: RunningHead) -> psutil.Process:
    """Somebody else's head on this machine, with the same programs: that of another home."""
    leader = processes.find_leader(ray_head.state)
    assert leader is not None
    return leader


async def test_a_killed_head_is_replaced_by_one_that_leaves_strangers_alone(
    stranger: psutil.Process, ray_head: RunningHead, home: Path
) -> None:
    theirs = {stranger, *stranger.children(recursive=True)}
    # Their workers may come and go; these stay.
    lasting = [child for child in stranger.children() if child.name() in ("gcs_server", "raylet")]
    head = EmbeddedHead(home)
    first = await head.ensure_running()
    everything = await kill_while_a_job_runs(head, first)

    second = await start_by_a_supervisor_that_dies(home)
    assert second.session_name != first.session_name
    assert second.temp_dir != first.temp_dir
    assert not any(processes.is_alive(process) for process in everything)
    assert (await head.ensure_running()).leader == second.leader
    await check_that_jobs_join(head, second)

    ours = processes.processes_of(second)
    assert len(ours) > 10
    assert not theirs & set(ours)
    await head.stop()
    assert not any(processes.is_alive(process) for process in ours)
    assert processes.processes_of(second) == []
    ended = read_head_state(home)
    assert ended is not None
    assert ended.phase is HeadPhase.STOPPED
    assert len(lasting) == 2
    assert all(map(processes.is_alive, [stranger, *lasting]))
    client = ray_head.client()
    assert (await client.cluster()).session_name == ray_head.state.session_name
    await client.aclose()


async def kill_while_a_job_runs(head: EmbeddedHead, state: HeadState) -> list[psutil.Process]:
    """Kills the head's first process; returns all that were there."""
    client = head.client()
    marked = state.temp_dir / "began"
    await client.submit(submission_id="long-a1", entrypoint=f"touch {marked}; sleep 1000")
    async with asyncio.timeout(120):
        while not marked.exists():  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(0.1)
    await client.aclose()
    everything = processes.processes_of(state)
    watching = asyncio.create_task(head.wait())
    assert state.leader is not None
    os.kill(state.leader.pid, signal.SIGKILL)
    ended = await asyncio.wait_for(watching, 30)
    assert ended.phase is HeadPhase.FAILED
    return everything


async def start_by_a_supervisor_that_dies(home: Path) -> HeadState:
    supervisor = await asyncio.create_subprocess_exec(
        sys.executable, "-c", SUPERVISE, str(home), stdout=subprocess.PIPE
    )
    assert supervisor.stdout is not None
    assert await supervisor.stdout.readline() == b"up\n"
    supervisor.send_signal(signal.SIGKILL)
    await supervisor.wait()
    state = read_head_state(home)
    assert state is not None
    return state


async def check_that_jobs_join(head: EmbeddedHead, state: HeadState) -> None:
    """A driver without an address joins the head that runs it, not another one."""
    client = head.client()
    await client.submit(submission_id="join-a1", entrypoint=f'python -c "{JOIN}"')
    job = await until_final(client, "join-a1")
    await client.aclose()
    assert job.status is JobStatus.SUCCEEDED, job.message
    assert state.session_dir is not None
    log = job_log_path(state.session_dir, "join-a1").read_text()
    assert re.findall(r"joined (\S+)", log) == [f"127.0.0.2:{state.ports['port']}"]


async def test_a_start_that_fails_says_why_and_leaves_nothing(home: Path) -> None:
    head = EmbeddedHead(home, limits=HeadLimits(object_store_bytes=1), attempts=1)
    with pytest.raises(HeadStartError, match=r"(?i)object store") as caught:
        await head.ensure_running()
    assert "\n" not in caught.value.message
    state = read_head_state(home)
    assert state is not None
    assert state.phase is HeadPhase.FAILED
    assert processes.processes_of(state) == []
