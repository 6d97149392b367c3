"""What charts of 100 runs cost a server: `python -m tests.bench.bench_charts`.

A server of its own answers over HTTP what the comparison asks. Prints one JSON line per number:
median and worst of n requests, CPU milliseconds of server and client together, bytes of the answer
as it was sent, and a yardstick (CPU milliseconds of a fixed loop, at that time), for a busy machine
makes all of them larger. Exits with 1 if a limit is missed.
"""

import asyncio
import gzip
import http.client
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlencode

import numpy as np
import psutil

from app.access.permissions import Scope
from app.db import Database
from app.metrics.columns import Columns
from app.metrics.ingest import ingest_columns
from app.schema import migrate
from app.users import service as users
from tests.factories import make_external_run
from tests.postgres import free_port

RUNS = 100
KEY = "reward/mean"
POINTS = 320
REPEATS = 20
LOOKS = 40
"""Requests of one figure for a look at nothing new: the clock counts in hundredths of a second."""
_START_SECONDS = 60.0


def main() -> int:
    """Measures everything. The exit code says whether each limit was held."""
    held: list[bool] = []
    for steps, most in ((1_000, 120), (2_000, 150)):
        with TemporaryDirectory(prefix="skydeck-bench-") as folder:
            filled = asyncio.run(_fill(Path(folder), steps))
            with _serving(Path(folder)) as server:
                held += _measure(_Reader(server, filled), steps, most)
    return int(not all(held))


def _measure(reader: "_Reader", steps: int, most: int) -> list[bool]:
    name = f"{RUNS} runs, {steps:,} steps each"
    chart = {"max_points": str(POINTS), "digits": "6"}
    drawn = _sample(reader, lambda: reader.ask(chart), REPEATS, 1)
    since = reader.ask(chart)["cursor"]
    look = _sample(reader, lambda: reader.ask({"since": since}), REPEATS // 2, LOOKS)
    return [
        _report(f"chart of {name}", drawn, most_ms=most, most_bytes=300 * 1024),
        _report(f"look at nothing new, {name}", look, most_ms=3, most_bytes=300),
    ]


@dataclass(frozen=True, slots=True)
class _Filled:
    token: str
    runs: list[str]


async def _fill(home: Path, steps: int) -> _Filled:
    url = f"sqlite+aiosqlite:///{home / 'skydeck.db'}"
    await migrate(url)
    database = Database(url)
    noise = np.random.default_rng(7)
    at = np.arange(steps)
    slugs = []
    for number in range(RUNS):
        async with database.write() as session:
            run = await make_external_run(session)
            curves = 1.0 - 1.0 / (1 + 0.01 * (at + 1) * (1 + number % 7))
            times = (1.79e9 + at).astype(np.float64)
            values = [
                np.asarray(curves + noise.normal(0, 0.05, steps), np.float64) for _ in range(10)
            ]
            columns = {
                KEY if n == 0 else f"other/{n}": Columns(at, values[n], times) for n in range(10)
            }
            await ingest_columns(session, run.id, 1, columns)
            slugs.append(run.slug)
    async with database.write() as session:
        _, token = await users.create_token(session, name="bench", scope=Scope.ADMIN)
    await database.close()
    return _Filled(token, slugs)


@dataclass(slots=True)
class _Server:
    port: int
    process: psutil.Process

    def cpu_seconds(self) -> float:
        used = self.process.cpu_times()
        return float(used.user + used.system)


@contextmanager
def _serving(home: Path) -> Iterator[_Server]:
    environ = {k: v for k, v in os.environ.items() if not k.startswith("SKYDECK_")}
    environ |= {
        "SKYDECK_HOME": str(home),
        "SKYDECK_REQUESTS_PER_MINUTE": "1000000",
        "SKYDECK_LOG_LEVEL": "error",
        "OPENBLAS_NUM_THREADS": "1",
    }
    port = free_port()
    command = [sys.executable, "-m", "app.cli", "web", "--port", str(port)]
    process = subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL)
    try:
        _wait(port)
        yield _Server(port, psutil.Process(process.pid))
    finally:
        process.terminate()
        process.wait(30)


def _wait(port: int) -> None:
    end = time.monotonic() + _START_SECONDS
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", "/healthz")
            connection.getresponse().read()
            return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)
        finally:
            connection.close()


@dataclass(slots=True)
class _Reader:
    """Asks for the series of all runs over one connection, as a browser does."""

    server: _Server
    filled: _Filled
    sent_bytes: int = 0
    connection: http.client.HTTPConnection = field(init=False)

    def __post_init__(self) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)

    def ask(self, query: dict[str, str]) -> dict[str, str]:
        """The answer's JSON, without what it is compressed by."""
        text = urlencode({"run": self.filled.runs, "key": KEY, **query}, doseq=True)
        headers = {"Authorization": f"Bearer {self.filled.token}", "Accept-Encoding": "gzip"}
        self.connection.request("GET", f"/api/v1/series?{text}", headers=headers)
        answer = self.connection.getresponse()
        body = answer.read()
        self.sent_bytes = len(body)
        if answer.status != 200:
            raise RuntimeError(f"the server answered {answer.status}: {body[:200]!r}")
        is_packed = answer.getheader("Content-Encoding") == "gzip"
        found: dict[str, str] = json.loads(gzip.decompress(body) if is_packed else body)
        return found

    def cpu_seconds(self) -> float:
        """Of server and client."""
        return self.server.cpu_seconds() + time.process_time()


@dataclass(frozen=True, slots=True)
class _Sample:
    milliseconds: list[float]
    n: int
    sent_bytes: int
    yardstick_ms: float


def _sample(reader: _Reader, ask: Callable[[], object], count: int, each: int) -> _Sample:
    """`count` figures, each the mean of `each` requests after one that warms up."""
    ask()
    found = []
    for _ in range(count):
        before = reader.cpu_seconds()
        for _ in range(each):
            ask()
        found.append((reader.cpu_seconds() - before) * 1_000 / each)
    return _Sample(found, count * each, reader.sent_bytes, _yardstick())


def _yardstick() -> float:
    started, x = time.process_time(), 0
    for i in range(1_000_000):
        x = (x + i * i) % 1_000_003
    return (time.process_time() - started) * 1_000


def _report(name: str, sample: _Sample, *, most_ms: float, most_bytes: int) -> bool:
    median = statistics.median(sample.milliseconds)
    line = {
        "name": f"{name}, CPU ms",
        "value": round(median, 1),
        "worst": round(max(sample.milliseconds), 1),
        "n": sample.n,
        "limit": most_ms,
        "ratio": round(median / most_ms, 2),
        "bytes": sample.sent_bytes,
        "most_bytes": most_bytes,
        "yardstick_ms": round(sample.yardstick_ms),
    }
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()
    return median <= most_ms and sample.sent_bytes <= most_bytes


if __name__ == "__main__":
    sys.exit(main())
