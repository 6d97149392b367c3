"""A product started for measuring: `skydeck up` on a fresh home, and the memory of its parts."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from app.ray.head_state import HeadPhase, read_head_state
from app.ray.processes import processes_of
from tests.postgres import free_port

PATIENCE_SECONDS = 180.0


@dataclass(frozen=True, slots=True)
class Product:
    """A running `skydeck up`; `ready_seconds` went by until it printed its ready line."""

    home: Path
    url: str
    process: psutil.Process
    ready_seconds: float

    def wait_for_cluster(self) -> None:
        """Raises `TimeoutError`."""
        end = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < end:
            state = read_head_state(self.home)
            if state is not None and state.phase is HeadPhase.READY:
                return
            time.sleep(0.2)
        raise TimeoutError("the embedded cluster did not become ready")

    def own_processes(self) -> dict[str, psutil.Process]:
        """Supervisor, web and worker by name: everything besides Ray."""
        found = {"supervisor": self.process}
        for child in self.process.children():
            command = " ".join(child.cmdline())
            for name, mark in (("web", "app.up.serve"), ("worker", "-m worker")):
                if mark in command:
                    found[name] = child
        return found

    def ray_processes(self) -> list[psutil.Process]:
        state = read_head_state(self.home)
        return [] if state is None else processes_of(state)


@contextmanager
def running(home: Path) -> Iterator[Product]:
    """Starts `skydeck up` on a free port and stops it as Ctrl-C would."""
    environ = {k: v for k, v in os.environ.items() if not k.startswith("SKYDECK_")}
    environ |= {"SKYDECK_HOME": str(home), "SKYDECK_PORT": str(free_port())}
    started = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "app.cli", "up"],
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line.startswith("ready "):
            raise RuntimeError(f"`skydeck up` ended with {process.wait()}")
        seconds = time.monotonic() - started
        yield Product(home, line.split()[1], psutil.Process(process.pid), seconds)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)
