"""Deaths and neighbours of an embedded head. Each test has real heads of its own."""

import asyncio
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest

from app.ray import processes
from app.ray.embedded import EmbeddedHead
from app.ray.errors import HeadStartError
from app.ray.gateway import JobStatus
from app.ray.head_launch import HeadLimits
from app.ray.head_state import HeadPhase, read_head_state
from app.ray.logs import job_log_path
from tests.ray.plugin import until_final

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
def stranger() -> Iterator[psutil.Process]:
    """Somebody else's head, started the plain way, without a token."""
    folder = Path(tempfile.mkdtemp(prefix="stranger-", dir="/tmp"))
    # Plain Ray may well fail to start on a busy machine.
    process = next(filter(None, (_start_stranger(folder / str(n)) for n in range(3))))
    yield psutil.Process(process.pid)
    _end_stranger(process)
    shutil.rmtree(folder, ignore_errors=True)


async def test_it_outlives_its_supervisor_and_leaves_strangers_alone(
    stranger: psutil.Process, home: Path
) -> None:
    theirs = {stranger, *stranger.children(recursive=True)}
    # Their workers may come and go; these stay.
    lasting = [child for child in stranger.children() if child.name() in ("gcs_server", "raylet")]
    supervisor = await asyncio.create_subprocess_exec(
        sys.executable, "-c", SUPERVISE, str(home), stdout=subprocess.PIPE
    )
    assert supervisor.stdout is not None
    assert await supervisor.stdout.readline() == b"up\n"
    before = read_head_state(home)
    assert before is not None
    supervisor.send_signal(signal.SIGKILL)
    await supervisor.wait()

    head = EmbeddedHead(home)
    state = await head.ensure_running()
    assert state.leader == before.leader
    client = head.client()
    await client.submit(submission_id="join-a1", entrypoint=f'python -c "{JOIN}"')
    job = await until_final(client, "join-a1")
    await client.aclose()
    assert job.status is JobStatus.SUCCEEDED, job.message
    assert state.session_dir is not None
    log = job_log_path(state.session_dir, "join-a1").read_text()
    assert re.findall(r"joined (\S+)", log) == [f"127.0.0.2:{state.ports['port']}"]

    ours = processes.processes_of(state)
    assert len(ours) > 10
    assert not theirs & set(ours)
    await head.stop()
    assert not any(processes.is_alive(process) for process in ours)
    assert processes.processes_of(state) == []
    assert len(lasting) == 2
    assert all(map(processes.is_alive, [stranger, *lasting]))
    assert _answers(_DASHBOARD)


async def test_a_killed_head_is_noticed_cleaned_up_and_replaced(home: Path) -> None:
    head = EmbeddedHead(home)
    first = await head.ensure_running()
    client = head.client()
    marked = home / "began"
    await client.submit(submission_id="long-a1", entrypoint=f"touch {marked}; sleep 1000")
    async with asyncio.timeout(120):
        while not marked.exists():  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(0.1)
    await client.aclose()
    everything = processes.processes_of(first)

    watching = asyncio.create_task(head.wait())
    assert first.leader is not None
    os.kill(first.leader.pid, signal.SIGKILL)
    ended = await asyncio.wait_for(watching, 30)
    assert ended.phase is HeadPhase.FAILED

    second = await head.ensure_running()
    assert second.session_name != first.session_name
    assert second.temp_dir != first.temp_dir
    assert not any(processes.is_alive(process) for process in everything)
    await head.stop()
    assert processes.processes_of(second) == []
    state = read_head_state(home)
    assert state is not None
    assert state.phase is HeadPhase.STOPPED


async def test_a_start_that_fails_says_why_and_leaves_nothing(home: Path) -> None:
    head = EmbeddedHead(home, limits=HeadLimits(object_store_bytes=1), attempts=1)
    with pytest.raises(HeadStartError, match=r"(?i)object store") as caught:
        await head.ensure_running()
    assert "\n" not in caught.value.message
    state = read_head_state(home)
    assert state is not None
    assert state.phase is HeadPhase.FAILED
    assert processes.processes_of(state) == []


_DASHBOARD_PORT = 36265
_DASHBOARD = f"http://127.0.0.1:{_DASHBOARD_PORT}/api/version"


def _start_stranger(folder: Path) -> "subprocess.Popen[bytes] | None":
    environ = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block"),
            *("--node-ip-address=127.0.0.3", "--port=36379", "--num-cpus=1"),
            *(f"--dashboard-port={_DASHBOARD_PORT}", "--ray-client-server-port=36001"),
            *("--object-store-memory=80000000", f"--temp-dir={folder}", "--disable-usage-stats"),
        ],
        env=environ | {"RAY_AUTH_MODE": "disabled"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    deadline = time.monotonic() + 120
    while process.poll() is None and time.monotonic() < deadline:
        # Written at the end of a start that went well.
        if (folder / "ray_current_cluster").exists() and _answers(_DASHBOARD):
            return process
        time.sleep(0.5)
    _end_stranger(process)
    return None


def _end_stranger(process: "subprocess.Popen[bytes]") -> None:
    below = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
    process.terminate()
    process.wait(60)
    psutil.wait_procs(below, timeout=10)


def _answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=5).is_success
    except httpx.HTTPError:
        return False
