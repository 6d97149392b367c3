"""The servers that must keep the contract: our endpoint, the fake in two dialects, a real vLLM.

The real one takes part where `SKYDECK_VLLM_URL` (ending in `/v1`) and `SKYDECK_VLLM_KEY` are set,
as by `make conformance-vllm`.
"""

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from app.settings import ROOT
from tests.fakes.openai_dialects import Dialect
from tests.fakes.openai_server import BASE, KEY, FakeOpenAI
from tests.serving import adapters
from tests.serving.test_process import announcement

ANSWER_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Server:
    """`is_ray`: it speaks Ray Serve LLM's dialect, which words errors otherwise."""

    base_url: str
    key: str
    base: str
    adapter: str
    max_model_len: int
    max_images: int
    is_ray: bool = False


@contextmanager
def _embedded(home: Path) -> Iterator[Server]:
    adapters.write(home / "adapters" / "mine")
    command = [sys.executable, "-m", "worker.serving", "--home", str(home)]
    with subprocess.Popen(command, cwd=ROOT) as process:
        try:
            said = announcement(home)
            yield Server(said["base_url"], said["key"], "maze-base", "maze-base:mine", 8192, 64)
        finally:
            process.terminate()


@contextmanager
def _fake(dialect: Dialect) -> Iterator[Server]:
    with FakeOpenAI(dialect=dialect, is_hostile=False).in_thread() as fake:
        adapter = next(iter(fake.adapters))
        is_ray = dialect is Dialect.RAY
        limits = (fake.max_model_len, fake.max_images)
        yield Server(fake.base_url, KEY, BASE, adapter, *limits, is_ray)


@pytest.fixture(scope="session", params=["embedded", "fake vllm", "fake ray", "real vllm"])
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """Each of them in turn."""
    if request.param == "embedded":
        with _embedded(tmp_path_factory.mktemp("endpoint")) as server:
            yield server
    elif request.param == "real vllm":
        url = os.environ.get("SKYDECK_VLLM_URL")
        if not url:
            pytest.skip("no real vLLM: see `make conformance-vllm`")
        key = os.environ.get("SKYDECK_VLLM_KEY", "")
        yield Server(url, key, BASE, f"{BASE}:maze-stopfix", 6_000, 20)
    else:
        with _fake(Dialect(request.param.removeprefix("fake "))) as server:
            yield server


@pytest.fixture
async def api(server: Server) -> AsyncIterator[httpx.AsyncClient]:
    """A client with the right key; paths count from `/v1`."""
    headers = {"Authorization": f"Bearer {server.key}"}
    async with httpx.AsyncClient(
        base_url=server.base_url, headers=headers, trust_env=False, timeout=ANSWER_SECONDS
    ) as client:
        yield client
