"""What evaluations add to the time of their answers: `python -m tests.bench.bench_evaluations`.

Sixteen evaluations at once, one episode at a time each, of a server that answers after 100 ms: the
ideal time is that of the answers alone. The server is a process of its own, the worker another.
Prints one JSON line and exits with 1 if the limit is missed.
"""

import asyncio
import gc
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import func, select

from app.db import Database
from app.episodes.seats import ModelSource
from app.models import Evaluation, EvaluationStatus
from app.schema import migrate_now
from app.settings import ROOT
from tests.evaluations.factories import make_evaluation, make_loop, small_set
from tests.evaluations.served import ServedModels
from tests.fakes.openai_server import BASE, KEY

EVALUATIONS = 16
MAZES = 16
TURNS = 15
LATENCY_SECONDS = 0.1
LIMIT = 1.15


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """`seconds` on the clock for `turns` answers of each evaluation; CPU is the worker's."""

    turns: int
    seconds: float
    cpu_seconds: float

    @property
    def ratio(self) -> float:
        """Of the time taken to that of the answers alone."""
        return self.seconds / (self.turns * LATENCY_SECONDS)


def main() -> int:
    """Measures, and says whether the limit was held."""
    with tempfile.TemporaryDirectory() as folder, fake_server() as models:
        url = f"sqlite+aiosqlite:///{Path(folder) / 'skydeck.db'}"
        migrate_now(url)
        # As the worker does at its start; and its first evaluation of all is another matter.
        gc.freeze()
        asyncio.run(measure(url, models, mazes=1))
        found = asyncio.run(measure(url, models))
    line = {
        "name": f"{EVALUATIONS} evaluations at once, {LATENCY_SECONDS:g} s an answer",
        "n": EVALUATIONS * found.turns,
        "seconds": round(found.seconds, 2),
        "of_ideal": round(found.ratio, 3),
        "worker_cpu_ms_a_turn": round(1000 * found.cpu_seconds / EVALUATIONS / found.turns, 2),
        "limit": LIMIT,
    }
    sys.stdout.write(json.dumps(line) + "\n")
    return int(found.ratio > LIMIT)


async def measure(url: str, models: ModelSource, *, mazes: int = MAZES) -> Measured:
    """Plays all evaluations with one worker's loop, from its start to the last one's end."""
    database = Database(url)
    try:
        for _ in range(EVALUATIONS):
            await _queued(database, models, mazes)
        loop, stop = make_loop(database, models, concurrency=64), asyncio.Event()
        started, cpu = time.monotonic(), time.process_time()
        working = asyncio.create_task(loop.run(stop))
        # A look is work that nobody else's worker does: few until they may have ended.
        await asyncio.sleep(mazes * TURNS * LATENCY_SECONDS)
        while await _count_open(database):  # noqa: ASYNC110
            await asyncio.sleep(0.1)
        seconds, cpu = time.monotonic() - started, time.process_time() - cpu
        stop.set()
        await working
    finally:
        await database.close()
    return Measured(turns=mazes * TURNS, seconds=seconds, cpu_seconds=cpu)


@contextmanager
def fake_server() -> Iterator[ServedModels]:
    """It always says the same move, so every episode takes all its turns."""
    command = [sys.executable, "-m", "tests.fakes.openai_server", "--latency", str(LATENCY_SECONDS)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield ServedModels(process.stdout.readline().strip(), KEY)
        finally:
            process.terminate()


async def _queued(database: Database, models: ModelSource, mazes: int) -> None:
    eval_set = small_set(mazes, max_turns=TURNS)
    await make_evaluation(database, models, BASE, eval_set=eval_set, concurrency=1)


async def _count_open(database: Database) -> int:
    """Cheap, or the look at the end would be a part of what is measured."""
    is_open = Evaluation.status != EvaluationStatus.SUCCEEDED
    query = select(func.count()).select_from(Evaluation).where(is_open)
    async with database.read() as session:
        return await session.scalar(query) or 0


if __name__ == "__main__":
    sys.exit(main())
