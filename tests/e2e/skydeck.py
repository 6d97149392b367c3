"""A real `skydeck up` in a process of its own, as a person starts it."""

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import psutil

from app.client import Client
from app.ray.head_state import HeadPhase, read_head_state
from app.settings import ROOT

READY_SECONDS = 120.0
HEAD_SECONDS = 240.0
STOP_SECONDS = 40.0
_POLL_SECONDS = 0.2


class Skydeck:
    """`skydeck up --port 0` on `home`. What it says on stderr is in `stderr_file`."""

    def __init__(self, home: Path, settings: Mapping[str, str] | None = None) -> None:
        """`settings`: by their names in the environment, without the prefix."""
        self.home = home
        self.stderr_file = home.with_name(f"{home.name}.stderr")
        self.environ = environment(home, settings or {})
        self.process = self._start()
        self.url = ""

    def start_again(self) -> None:
        """After `stop`."""
        if self.process.stdout is not None:
            self.process.stdout.close()
        self.process = self._start()

    def wait_ready(self, seconds: float = READY_SECONDS) -> float:
        """Waits for the line `ready URL`; returns the seconds that it took."""
        began = time.monotonic()
        assert self.process.stdout is not None
        readable, _, _ = select.select([self.process.stdout], [], [], seconds)
        line = self.process.stdout.readline() if readable else ""
        word, _, self.url = line.strip().partition(" ")
        assert word == "ready", f"{line!r} instead of `ready URL`: {self.said()}"
        return time.monotonic() - began

    def wait_head(self, seconds: float = HEAD_SECONDS) -> float:
        """Waits until the embedded cluster takes jobs; returns the seconds that it took."""
        began = time.monotonic()
        while True:
            state = read_head_state(self.home)
            if state is not None and state.phase is HeadPhase.READY:
                return time.monotonic() - began
            assert self.process.poll() is None, self.said()
            assert time.monotonic() - began < seconds, f"head still not ready: {state}"
            time.sleep(_POLL_SECONDS)

    def client(self, scope: str = "write") -> Client:
        """Signed in by a new token."""
        return Client(self.url, self.token(scope))

    def token(self, scope: str = "write") -> str:
        return self.run("token", "create", "--name", "test", "--scope", scope)

    def run(self, *arguments: str) -> str:
        """What a command says on stdout, without the end of its line."""
        made = subprocess.run(
            command(*arguments),
            cwd=ROOT,
            env=self.environ,
            capture_output=True,
            text=True,
            timeout=READY_SECONDS,
        )
        assert made.returncode == 0, made.stderr
        return made.stdout.strip()

    def children(self, name: str) -> list[psutil.Process]:
        """Our `web`, `worker` or `endpoint` process, if there is one right now."""
        module = {"web": "app.up.serve", "worker": "worker", "endpoint": "worker.serving"}[name]
        found = []
        for process in psutil.Process(self.process.pid).children():
            try:
                # While it is still becoming itself, its arguments say what it will be.
                if module in process.cmdline():
                    found.append(process)
            except psutil.Error:
                continue
        return found

    def kill(self, name: str) -> bool:
        """SIGKILL for one of `children`; False if it is not there right now."""
        found = self.children(name)
        for process in found:
            process.kill()
        return bool(found)

    def abandon(self) -> None:
        """SIGKILL for the supervisor: its head stays, and is found by the next one."""
        self.process.kill()
        self.process.wait()

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, float]:
        """Exit status after a signal, and the seconds that the end took."""
        began = time.monotonic()
        self.process.send_signal(number)
        status = self.process.wait(STOP_SECONDS)
        return status, time.monotonic() - began

    def _start(self) -> "subprocess.Popen[str]":
        with self.stderr_file.open("ab") as err:
            return subprocess.Popen(
                command("up", "--port", "0"),
                cwd=ROOT,
                env=self.environ,
                stdout=subprocess.PIPE,
                stderr=err,
                text=True,
            )

    def said(self) -> str:
        """The last lines on stderr."""
        return "\n".join(self.stderr_file.read_text(errors="replace").splitlines()[-15:])


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "app.cli", *arguments]


def environment(home: Path, settings: Mapping[str, str]) -> dict[str, str]:
    """Ours without Skydeck's and Ray's variables, and with `settings`."""
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("SKYDECK_", "RAY_"))
    }
    given = {"HOME": str(home), "POLL_SECONDS": "0.3", **settings}
    return clean | {f"SKYDECK_{name}": value for name, value in given.items()}


@contextmanager
def running(home: Path, settings: Mapping[str, str] | None = None) -> Iterator[Skydeck]:
    """Stopped properly at the end, whatever the test did."""
    skydeck = Skydeck(home, settings)
    try:
        yield skydeck
    finally:
        if skydeck.process.poll() is None:
            skydeck.stop()
        if skydeck.process.stdout is not None:
            skydeck.process.stdout.close()


def processes_of(home: Path) -> list[str]:
    """Command lines of all living processes that name `home` or have it as their setting."""
    found = []
    for process in psutil.process_iter():
        try:
            is_ours = process.environ().get("SKYDECK_HOME") == str(home)
            line = " ".join(process.cmdline())
        except psutil.Error:
            continue
        if is_ours or str(home) in line:
            found.append(line)
    return found
