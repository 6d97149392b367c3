"""The unmodified toolkit and our gateway ask the same, of the same local HyperPod cluster."""

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.ray.address import ClusterAddress, EndpointAddress, HyperpodAddress
from app.ray.connect import Connector
from app.ray.errors import RayUnreachable
from app.ray.gateway import JobStatus
from app.ray.target import Target
from app.settings import ROOT
from tests.fakes.hyperpod import FakeHyperpod, Seen
from tests.fakes.ray import FakeRay
from tests.ray.plugin import RunningHead, until_final

Tool = Callable[..., Any]
NAMED = ClusterAddress("skyrl", "team-a")
VERSION = ("GET", "/api/version")
COUNT_AND_WAIT = "for n in $(seq 1 2000); do echo line $n; done; sleep 600"


class Toolkit:
    """Asks the process of `toolkit.py`; raises `AssertionError` with what it failed with."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def __call__(self, do: str, **arguments: Any) -> Any:
        answer = await self.ask(do, **arguments)
        assert "error" not in answer, answer
        return answer["result"]

    async def ask(self, do: str, **arguments: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"do": do} | arguments).encode() + b"\n")
        await self._process.stdin.drain()
        async with asyncio.timeout(120):
            return json.loads(await self._process.stdout.readline())


@asynccontextmanager
async def toolkit(pod: FakeHyperpod, folder: Path) -> AsyncIterator[Toolkit]:
    authority, kubeconfig = folder / "ca.pem", folder / "kubeconfig"
    authority.write_text(pod.ca)
    kubeconfig.write_text(pod.kubeconfig)
    environment = {name: value for name, value in os.environ.items() if "RAY" not in name}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.hyperpod.toolkit",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        cwd=ROOT,
        env=environment
        | {
            "KUBECONFIG": str(kubeconfig),
            "REQUESTS_CA_BUNDLE": str(authority),
            "SSL_CERT_FILE": str(authority),
        },
    )
    try:
        yield Toolkit(process)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        async with asyncio.timeout(30):
            await process.wait()


def gateway(pod: FakeHyperpod, address: HyperpodAddress = NAMED) -> Any:
    connector = Connector(pod.make_client(), session_name="skydeck")
    return connector.open(Target(address, pod.point, pod.ca))


def taken(pod: FakeHyperpod) -> list[Seen]:
    """What was asked since the last call, the toolkit's looks at the version left out.

    A session's cookie and a connection's token are made anew each time.
    """
    found = [_plain(each) for each in pod.seen if each.place != VERSION]
    pod.seen.clear()
    return found


def _plain(seen: Seen) -> Seen:
    query = {name: "…" if name == "token" else value for name, value in seen.query.items()}
    secret = seen.secret if seen.server == "api" else ("session" if seen.secret else "")
    return replace(seen, query=query, secret=secret)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["name", "host"])
async def test_each_call_asks_the_same(tmp_path: Path, form: str) -> None:
    environment, metadata = {"RAY_DEDUP_LOGS": "0"}, {"job_name": "x", "run": "run-1"}
    async with (
        FakeRay(token=None).serve() as ray,
        FakeHyperpod(ray.address).serve() as pod,
        toolkit(pod, tmp_path) as tool,
    ):
        address = NAMED if form == "name" else EndpointAddress(pod.gateway_host)
        ours = gateway(pod, address)

        await tool("connect", address=str(address))
        theirs = taken(pod)
        assert [each.server for each in theirs] == ["api", "gateway"]
        await ours.cluster()
        assert taken(pod)[:2] == theirs

        given: dict[str, Any] = {"submission_id": "job-1", "entrypoint": "python train.py"}
        await tool("submit_job", **given, runtime_env={"env_vars": environment}, metadata=metadata)
        theirs = taken(pod)
        ray.jobs.clear()
        await ours.submit(**given, env_vars=environment, metadata=metadata)
        sent, looked = taken(pod)
        assert [sent] == theirs
        assert looked.place == ("GET", "/api/jobs/job-1")

        steps: tuple[tuple[str, dict[str, str], Callable[[], Any]], ...] = (
            ("get_job_status", {"job_id": "job-1"}, lambda: ours.get_job("job-1")),
            ("list_jobs", {}, ours.list_jobs),
            ("stop_job", {"job_id": "job-1"}, lambda: ours.stop("job-1")),
        )
        for name, arguments, call in steps:
            await tool(name, **arguments)
            theirs = taken(pod)
            await call()
            assert taken(pod) == theirs, name
        record = dict(ray.jobs["job-1"])
        ray.finish("job-1")
        await tool("delete_job", job_id="job-1")
        theirs = taken(pod)
        ray.jobs["job-1"] = record
        ray.finish("job-1")
        await ours.delete("job-1")
        assert taken(pod) == theirs
        await ours.aclose()


@pytest.mark.ray
@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_a_real_head_behind_the_gateway_through_both(
    ray_head: RunningHead, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("RAY_ADDRESS", "RAY_API_SERVER_ADDRESS"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    pod = FakeHyperpod(ray_head.state.address, ray_head.token)
    async with pod.serve(), toolkit(pod, tmp_path) as tool:
        ours = gateway(pod)
        assert (await ours.cluster()).session_name == ray_head.state.session_name
        await ours.submit(submission_id="pod-ours-a1", entrypoint=COUNT_AND_WAIT)
        await tool("connect", address=str(NAMED))
        await tool("submit_job", submission_id="pod-theirs-a1", entrypoint="echo hello from theirs")

        # Ours follows its own job, the session ends in the middle of it, connections are cut.
        await follow(ours, pod, "pod-ours-a1")
        assert (await until_final(ours, "pod-theirs-a1")).status is JobStatus.SUCCEEDED

        # The toolkit's session is gone for good, ours was renewed.
        assert (await tool.ask("get_job_status", job_id="pod-ours-a1"))["error"]
        await tool("connect", address=str(NAMED))
        assert "hello from theirs" in await tool("tail", job_id="pod-theirs-a1")
        assert b"hello from theirs" in await ours.tail_log(
            await ours.get_job("pod-theirs-a1"), lines=-1
        )
        theirs = set(await tool("list_jobs"))
        assert {"pod-ours-a1", "pod-theirs-a1"} <= theirs
        assert {job.submission_id for job in await ours.list_jobs()} == theirs

        assert await ours.stop("pod-ours-a1") is True
        assert (await until_final(ours, "pod-ours-a1")).status is JobStatus.STOPPED
        assert await tool("get_job_status", job_id="pod-ours-a1") == "STOPPED"
        for job in ("pod-ours-a1", "pod-theirs-a1"):
            await ours.delete(job)
            assert await ours.find_job(job) is None
        await ours.aclose()


async def follow(ours: Any, pod: FakeHyperpod, job: str) -> None:
    """Until all of its lines are there, as they were written, each once."""
    async with asyncio.timeout(120):
        while (await ours.get_job(job)).status is not JobStatus.RUNNING:  # noqa: ASYNC110
            await asyncio.sleep(0.1)
    pod.expire()
    pod.cuts = 1
    with pytest.raises(RayUnreachable):
        await ours.get_job(job)
    ours._logins._made_at = ours._logins._made_at.replace(year=2000)
    wanted = [b"line %d" % n for n in range(1, 2001)]
    until = time.monotonic() + 120
    while numbered(whole := await ours.tail_log(await ours.get_job(job), lines=-1)) != wanted:
        assert time.monotonic() < until, whole[-2000:]
        await asyncio.sleep(0.5)
    tail = await ours.tail_log(await ours.get_job(job), lines=100)
    assert whole.endswith(tail)
    assert tail.count(b"\n") == 100


def numbered(log: bytes) -> list[bytes]:
    """Its numbered lines; Ray's own may stand among them."""
    return [line for line in log.splitlines() if line.startswith(b"line ")]
