"""`python -m worker.serving` as a process: its file, its key, its end."""

import asyncio
import contextlib
import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from app.settings import ROOT
from worker.serving import connections
from worker.serving.announcement import announced
from worker.serving.connections import HeadInTime

WAIT_SECONDS = 60.0


@contextmanager
def started(home: Path, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """The process, killed at the end if it still lives."""
    command = [sys.executable, "-m", "worker.serving", "--home", str(home), *arguments]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def announcement(home: Path) -> dict[str, Any]:
    """What the file says, once it is there."""
    deadline = time.monotonic() + WAIT_SECONDS
    while not (home / "endpoint.json").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    found: dict[str, Any] = json.loads((home / "endpoint.json").read_text())
    return found


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_announces_itself_serves_and_goes_without_a_trace(
    tmp_path: Path, number: signal.Signals
) -> None:
    with started(tmp_path, "--log-format", "json") as process:
        said = announcement(tmp_path)
        assert (tmp_path / "endpoint.json").stat().st_mode & 0o777 == 0o600
        assert said["pid"] == process.pid
        headers = {"Authorization": f"Bearer {said['key']}"}
        found = httpx.get(f"{said['base_url']}/models", headers=headers, trust_env=False)
        assert [model["id"] for model in found.json()["data"]] == ["maze-base"]
        process.send_signal(number)
        assert process.wait(WAIT_SECONDS) == 0
        assert process.stderr is not None
        lines = [json.loads(line) for line in process.stderr.read().splitlines()]
    assert list(tmp_path.iterdir()) == []
    assert [line["event"] for line in lines] == [f"serving at {said['base_url']}"]
    assert said["key"] not in str(lines)


def test_it_listens_on_loopback_alone(tmp_path: Path) -> None:
    with started(tmp_path):
        port = int(announcement(tmp_path)["base_url"].rsplit(":", 1)[1].removesuffix("/v1"))
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.2", port), timeout=5)


def test_a_taken_port_and_a_missing_home_are_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        cases = ((tmp_path, str(other.getsockname()[1])), (tmp_path / "none", "0"))
        for home, port in cases:
            with started(home, "--port", port) as process:
                assert process.wait(WAIT_SECONDS) == 1
                assert process.stderr is not None
                [line] = process.stderr.read().splitlines()
            assert line.startswith("skydeck endpoint: ")
    assert list(tmp_path.iterdir()) == []


def test_the_file_of_another_process_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "endpoint.json"
    with announced(tmp_path, port=1, key="k"):
        file.write_text('{"pid": 1}')
    assert json.loads(file.read_text()) == {"pid": 1}
    file.write_text("{")
    with announced(tmp_path, port=1, key="k"):
        assert json.loads(file.read_text())["key"] == "k"
    assert list(tmp_path.iterdir()) == []


async def test_who_sends_no_head_in_time_holds_no_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.2)
    config = uvicorn.Config(_answer, http=HeadInTime, lifespan="off", log_config=None)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        for beginning in (b"", b"GET /health HTTP/1.1\r\nHost:"):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(beginning)
            async with asyncio.timeout(WAIT_SECONDS):
                # Closed by the other side, with or without a farewell.
                with contextlib.suppress(ConnectionResetError):
                    assert await reader.read() == b""
            writer.close()
        async with httpx.AsyncClient(trust_env=False) as client:
            for _ in range(2):
                assert (await client.get(f"http://127.0.0.1:{port}/")).status_code == 200
                # Between requests a connection may be silent for longer.
                await asyncio.sleep(0.4)
            assert (await client.get(f"http://127.0.0.1:{port}/")).status_code == 200
        server.should_exit = True
        await serving


async def _answer(_scope: Any, _receive: Any, send: Any) -> None:
    await send(
        {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]}
    )
    await send({"type": "http.response.body"})
