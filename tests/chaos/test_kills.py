"""SIGKILL at random moments of a real run: nothing of it is lost, and nothing happens twice.

`CHAOS_ROUNDS` is the number of kills in a run (`make chaos`: 10), `CHAOS_SEED` repeats the
moments of an earlier one.
"""

import asyncio
import os
import random
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from app.ray.embedded import EmbeddedHead
from tests.e2e.runs import check_stored, launch, wait_ended
from tests.e2e.skydeck import Skydeck, running

pytestmark = [
    pytest.mark.chaos,
    pytest.mark.slow,
    pytest.mark.timeout(580),
]

ROUNDS = int(os.environ.get("CHAOS_ROUNDS", "2"))
SEED = int(os.environ.get("CHAOS_SEED", random.SystemRandom().randrange(2**31)))
TARGETS = (("worker",), ("web",), ("worker", "web"))
LONGEST_PAUSE = 3.0
# Long enough that even the last kill falls into the run; the test makes sure.
STEPS = 16 + 12 * ROUNDS


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    """One home for both databases: the second `up` finds the first one's head again."""
    folder = Path(tempfile.mkdtemp(prefix="sky-", dir="/tmp"))
    yield folder / "home"
    asyncio.run(EmbeddedHead(folder / "home").stop())
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def settings(database_url: str) -> dict[str, str]:
    """A short lease: whoever takes over a killed worker's row waits for its end."""
    return {"DATABASE_URL": database_url, "LEASE_SECONDS": "3"}


def test_a_run_survives_kills_of_worker_and_web(home: Path, settings: dict[str, str]) -> None:
    moments = random.Random(SEED)
    with running(home, settings) as skydeck:
        skydeck.wait_ready()
        skydeck.wait_head()
        with skydeck.client() as client:
            run_id = launch(client, steps=STEPS)
            killed = [kill_later(skydeck, moments, TARGETS[n % 3]) for n in range(ROUNDS)]
            run = wait_ended(client, run_id)
            note = f"CHAOS_SEED={SEED}: {killed}"
            assert run["status"] == "succeeded", (note, run)
            ended_at = datetime.fromisoformat(run["ended_at"])
            assert all(ended_at > kill.at for kill in killed), (note, run)
            try:
                check_stored(client, home, run_id, steps=STEPS)
            except AssertionError as error:
                raise AssertionError(note) from error
        skydeck.abandon()


@dataclass(frozen=True)
class Kill:
    """What was killed, when, and after which pause in seconds."""

    targets: str
    at: datetime
    pause: float


def kill_later(skydeck: Skydeck, moments: random.Random, targets: Sequence[str]) -> Kill:
    """Waits a random time, then kills each target once it is there."""
    pause = moments.uniform(0, LONGEST_PAUSE)
    time.sleep(pause)
    for target in targets:
        while not skydeck.kill(target):
            time.sleep(0.05)
    return Kill("+".join(targets), datetime.now(UTC), pause)
