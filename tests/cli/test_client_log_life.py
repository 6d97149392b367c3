"""A loop that logs to a real web process: through kills, restarts, forks and its own end."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from app.access.permissions import Scope
from app.client import Client
from app.db import Database
from app.errors import Conflict
from app.settings import ROOT
from app.users import service as users
from tests.conftest import sqlite_copy
from tests.postgres import free_port

pytestmark = pytest.mark.timeout(240)
PATIENCE = 60.0


class Web:
    """One that can be killed, and started again at the same address."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.token = asyncio.run(_token(f"sqlite+aiosqlite:///{home / 'skydeck.db'}"))
        self.start()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def start(self) -> None:
        self.process = self._start()
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                if httpx.get(f"{self.url}/healthz", trust_env=False).is_success:
                    return
            except httpx.TransportError:
                time.sleep(0.05)
        raise TimeoutError("the web process does not answer")

    def client(self) -> Client:
        return Client(self.url, self.token)

    def steps(self, run: str, key: str = "loss") -> list[int]:
        """Of all points that are stored, as a new client reads them."""
        with self.client() as reader:
            found = reader.read_series([run], [key])
            return list(found[0]["step"]) if found else []

    def run(self, program: str, *words: str) -> "subprocess.CompletedProcess[str]":
        """A training script of its own; its first arguments are address and token."""
        return subprocess.run(
            [sys.executable, "-c", program, self.url, self.token, *words],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        )

    def _start(self) -> "subprocess.Popen[bytes]":
        ours = {"HOME": str(self.home), "LOG_LEVEL": "error"}
        environ = {k: v for k, v in os.environ.items() if not k.startswith("SKYDECK_")}
        return subprocess.Popen(
            [sys.executable, "-m", "app.cli", "web", "--port", str(self.port)],
            cwd=ROOT,
            env=environ | {f"SKYDECK_{name}": text for name, text in ours.items()},
        )


@pytest.fixture(scope="module")
def web(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    home = tmp_path_factory.mktemp("home")
    sqlite_copy(sqlite_template, home)
    made = Web(home)
    try:
        yield made
    finally:
        made.process.send_signal(signal.SIGTERM)
        made.process.wait(30)


def external(client: Client) -> str:
    return str(client.create_external_run("a loop")["id"])


def test_what_was_logged_outlives_a_kill_of_the_service_a_moment_later(web: Web) -> None:
    with web.client() as client:
        run = external(client)
        began = time.monotonic()
        client.log(run, {"loss": 0.5}, step=1)
        while web.steps(run) != [1]:
            # A second, and what a busy machine adds.
            assert time.monotonic() - began < 5
            time.sleep(0.1)
        web.kill()
        web.start()
        assert web.steps(run) == [1]


def test_a_loop_goes_on_while_the_service_is_killed_and_started_again(web: Web) -> None:
    with web.client() as client:
        run = external(client)
        for step in range(400):
            client.log(run, {"loss": float(step)}, step=step)
            if step == 100:
                client.flush(PATIENCE)
            if step == 200:
                web.kill()
            if step == 300:
                web.start()
        client.flush(PATIENCE)
    assert web.steps(run) == list(range(400))
    with web.client() as reader:
        (summary,) = reader.list_metrics(run)
    # Nothing was stored twice, though it may have been sent twice.
    assert (summary["count"], summary["last"]) == (400, 399.0)


ENDS = {
    "by itself": "",
    "by an error": "raise RuntimeError('out of memory')",
    "by sys.exit": "sys.exit(3)",
}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_a_script_that_ends_without_a_flush_loses_nothing(web: Web, end: str) -> None:
    program = f"""
import sys
from app.client import Client
client = Client(*sys.argv[1:3])
run = client.create_external_run("short")["id"]
for step in range(250):
    client.log(run, {{"loss": 1.0}}, step=step)
print(run)
{end}
"""
    done = web.run(program)
    assert web.steps(done.stdout.strip()) == list(range(250)), done.stderr


FORKED = """
import os, sys
from app.client import Client

client = Client(*sys.argv[1:3])
run = client.create_external_run("forks")["id"]
client.log(run, {"parent": 1.0}, step=0)
client.flush(30)
client.log(run, {"parent": 1.0}, step=1)
child = os.fork()
if child == 0:
    # Such as a worker of a data loader, which has the parent's client.
    client.log(run, {"child": 1.0}, step=0)
    client.flush(30)
    client.log(run, {"child": 1.0}, step=1)
    client.close()
    os._exit(0)
for step in range(2, 50):
    client.log(run, {"parent": 1.0}, step=step)
client.flush(30)
_, status = os.waitpid(child, 0)
print(run, os.waitstatus_to_exitcode(status))
"""


def test_a_fork_of_the_loop_logs_too_and_sends_nothing_of_its_parents(web: Web) -> None:
    done = web.run(FORKED)
    assert done.returncode == 0, done.stderr
    run, status = done.stdout.split()
    assert status == "0", done.stderr
    assert web.steps(run, "parent") == list(range(50))
    assert web.steps(run, "child") == [0, 1]


def test_a_run_that_was_deleted_meanwhile_is_said_at_the_next_call(web: Web) -> None:
    with web.client() as client:
        run = external(client)
        client.log(run, {"loss": 1.0}, step=1)
        client.flush(PATIENCE)
        client.finish(run)
        client.delete_run(run)
        client.log(run, {"loss": 1.0}, step=2)
        with pytest.raises(Conflict, match="restore it"):
            client.flush(PATIENCE)
        other = external(client)
        client.log(other, {"loss": 1.0}, step=1)
        client.flush(PATIENCE)
    assert web.steps(other) == [1]


async def _token(url: str) -> str:
    database = Database(url)
    async with database.write() as session:
        _, secret = await users.create_token(session, name="loop", scope=Scope.WRITE)
    await database.close()
    return secret
