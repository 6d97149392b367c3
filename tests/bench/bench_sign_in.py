"""What 50 wrong passwords a second cost somebody who is signed in: `python -m tests.bench sign-in`.

A real web process, a real session, the page of runs. Quiet and flooded stretches take turns,
so that both see the same machine; the ratio of their medians is what counts. Limits of requests
are lifted, or they would refuse the flood before the passwords' own limits do. Prints one JSON
line a kind of flood; exits with 1 if pages take more than twice as long under any.
"""

import asyncio
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

from app.db import Database
from app.models import User
from app.schema import migrate_now
from app.up.checks import listen
from app.users import service as users
from app.users.passwords import POOL
from app.web.deps import SESSION_COOKIE
from tests.bench.flood import Kind
from tests.web.seed import seed

PER_SECOND = 50
ROUNDS = 20
PAGES = 10
LIMIT = 2.0
_PATIENCE_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Site:
    """A served application, and the cookie of who is signed in."""

    url: str
    secret: str


@dataclass(frozen=True, slots=True)
class Measured:
    """Seconds a page took, quiet and flooded, and how the guesses were answered."""

    quiet: list[float]
    flooded: list[float]
    answers: Counter[str]

    @property
    def ratio(self) -> float:
        return statistics.median(self.flooded) / statistics.median(self.quiet)


def main() -> int:
    """The exit code says whether each limit was held."""
    with TemporaryDirectory(prefix="skydeck-bench-") as folder:
        # A process each: one flood's wrong passwords must not count for the next one.
        results = []
        for kind in Kind:
            with serving(Path(folder) / kind) as site:
                results.append(_report(kind, measure(site, kind)))
    return int(not all(results))


def measure(site: Site, kind: Kind, *, rounds: int = ROUNDS, pages: int = PAGES) -> Measured:
    """`rounds` times `pages` pages without and with a flood."""
    quiet: list[float] = []
    flooded: list[float] = []
    cookies = {SESSION_COOKIE: site.secret}
    with httpx.Client(base_url=site.url, cookies=cookies, trust_env=False, timeout=60) as client:
        _look(client, pages)
        with _flooding(site.url, kind) as flood:
            for _ in range(rounds):
                quiet += _look(client, pages)
                flood.process.send_signal(signal.SIGCONT)
                flooded += _look(client, pages)
                flood.process.send_signal(signal.SIGSTOP)
    return Measured(quiet, flooded, flood.answers)


@contextmanager
def serving(home: Path) -> Iterator[Site]:
    """A web process of its own on a seeded database."""
    home.mkdir()
    url = f"sqlite+aiosqlite:///{home / 'skydeck.db'}"
    migrate_now(url)
    secret = asyncio.run(_fill(url))
    environ = {k: v for k, v in os.environ.items() if not k.startswith("SKYDECK_")}
    environ |= {"SKYDECK_HOME": str(home), "SKYDECK_REQUESTS_PER_MINUTE": "1000000"}
    listener = listen("127.0.0.1", 0)
    descriptor, port = listener.fileno(), listener.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "app.up.serve", str(descriptor)],
        env=environ,
        pass_fds=[descriptor],
        stderr=subprocess.DEVNULL,
    )
    try:
        listener.close()
        site = Site(f"http://127.0.0.1:{port}", secret)
        _wait(site.url)
        yield site
    finally:
        process.terminate()
        process.wait(_PATIENCE_SECONDS)


async def _fill(url: str) -> str:
    database = Database(url)
    seeded = await seed(database)
    async with database.write() as session:
        ada: User = await users.create_user(session, "ada")
        await users.set_password(session, ada, POOL.hash_now("four unrelated words"))
    await database.close()
    return seeded.session_secret


def _wait(url: str) -> None:
    end = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < end:
        try:
            if httpx.get(f"{url}/healthz", trust_env=False).is_success:
                return
        except httpx.TransportError:
            time.sleep(0.1)
    raise TimeoutError("the web process does not answer")


def _look(client: httpx.Client, count: int) -> list[float]:
    taken = []
    for _ in range(count):
        started = time.perf_counter()
        answer = client.get("/runs")
        taken.append(time.perf_counter() - started)
        if answer.status_code != 200:
            raise RuntimeError(f"the page of runs answered {answer.status_code}")
    return taken


@dataclass(slots=True)
class _Flood:
    process: subprocess.Popen[str]
    answers: Counter[str]


@contextmanager
def _flooding(url: str, kind: Kind) -> Iterator[_Flood]:
    """A flood that has begun and is halted; its answers are counted at the end."""
    command = [sys.executable, "-m", "tests.bench.flood", url, str(PER_SECOND), kind]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    flood = _Flood(process, Counter())
    try:
        process.stdout.readline()
        process.send_signal(signal.SIGSTOP)
        yield flood
    finally:
        process.send_signal(signal.SIGCONT)
        process.terminate()
        said, _ = process.communicate(timeout=_PATIENCE_SECONDS)
    flood.answers.update(json.loads(said))


def _report(kind: Kind, measured: Measured) -> bool:
    line = {
        "name": f"page of runs under {PER_SECOND} wrong passwords a second, {kind}: times as long",
        "value": round(measured.ratio, 2),
        "n": len(measured.flooded),
        "limit": LIMIT,
        "quiet_ms": _milliseconds(measured.quiet),
        "flooded_ms": _milliseconds(measured.flooded),
        "answers": dict(measured.answers),
        "answers_per_second": round(measured.answers.total() / sum(measured.flooded), 1),
    }
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()
    return measured.ratio <= LIMIT


def _milliseconds(taken: list[float]) -> dict[str, float]:
    cuts = statistics.quantiles(taken, n=20)
    return {"median": round(cuts[9] * 1000, 1), "p95": round(cuts[18] * 1000, 1)}


if __name__ == "__main__":
    sys.exit(main())
