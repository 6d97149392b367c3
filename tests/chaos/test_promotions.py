"""SIGKILL at random moments of a promotion: its destination is absent or complete, never mixed.

`CHAOS_SEED` repeats the moments of an earlier run. Each round is a promotion of its own whose
worker is killed once, or twice, and then repeated to its end.
"""

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from sqlalchemy import update

from app.checkpoints.exports import CONFIG, WEIGHTS
from app.db import Database
from app.models import Promotion, PromotionStatus
from app.settings import ROOT
from tests.adapters.conftest import Shop, make_shop
from tests.checkpoints.exports import weights, write_export

pytestmark = [pytest.mark.chaos, pytest.mark.slow, pytest.mark.timeout(580)]

ROUNDS = 4 * int(os.environ.get("CHAOS_ROUNDS", "5"))
"""Kills: each takes some seconds; `make chaos` makes 40."""
SEED = int(os.environ.get("CHAOS_SEED", random.SystemRandom().randrange(2**31)))
DATA = weights(rank=64, width=60_000)
"""About 30 MB, so that most kills fall into the copy."""
WORKER = """
import asyncio, sys
from pathlib import Path
from tests.chaos.test_promotions import work
asyncio.run(work(sys.argv[1], Path(sys.argv[2])))
"""


async def work(url: str, home: Path) -> None:
    """A worker that has nothing but promotions to do; says when it begins and when it is done."""
    shop = big_shop(Database(url), home)
    sys.stdout.write("begin\n")
    sys.stdout.flush()
    await shop.settle()
    sys.stdout.write("done\n")
    sys.stdout.flush()


def big_shop(database: Database, home: Path) -> Shop:
    """One whose endpoint takes large adapters."""
    return make_shop(database, home, max_weights_bytes=None)


async def test_a_killed_promotion_leaves_nothing_or_all(
    sqlite_database: Database, sqlite_url: str, tmp_path: Path
) -> None:
    moments = random.Random(SEED)
    home = tmp_path / "home"
    shop = big_shop(sqlite_database, home)
    slug = await shop.add_run(*range(1, ROUNDS + 2))
    for step in range(1, ROUNDS + 2):
        write_export(shop.folder(slug), step, data=DATA, config={"r": 64})
    await shop.look()
    whole = await _time(shop, slug, sqlite_url)
    seen: Counter[str] = Counter()
    for step in range(2, ROUNDS + 2):
        asked = await shop.promote(await shop.export_of(slug, step))
        name = f"{slug}-s{step}"
        for _ in range(moments.choice((1, 1, 2))):
            await asyncio.to_thread(_kill_after, sqlite_url, home, moments.uniform(0, whole))
            seen[_state(shop.root / name)] += 1
            await _let_leases_run_out(shop)
        # Killed workers were ahead by the time that they took to start.
        await shop.settle(seconds=3600)
        row = await shop.read(asked)
        assert row.status is PromotionStatus.SUCCEEDED, (SEED, step, row.failure)
        assert _state(shop.root / name) == "complete", (SEED, step)
        names = sorted(each.name for each in (shop.root / name).iterdir())
        assert names == [CONFIG, WEIGHTS], (SEED, step)
    assert seen.keys() <= {"absent", "complete"}, SEED
    assert seen["absent"] >= 3, (SEED, seen)


def _state(folder: Path) -> str:
    """What a server would make of the destination."""
    if not (folder / CONFIG).exists():
        return "absent"
    is_whole = (folder / WEIGHTS).read_bytes() == DATA and b'"r": 64' in (
        folder / CONFIG
    ).read_bytes()
    return "complete" if is_whole else "mixed"


def _start(url: str, home: Path) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-c", WORKER, url, str(home)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "begin\n"
    return process


def _kill_after(url: str, home: Path, seconds: float) -> None:
    with _start(url, home) as process:
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)


def _run(url: str, home: Path) -> float:
    with _start(url, home) as process:
        begun = time.monotonic()
        assert process.stdout is not None
        assert process.stdout.readline() == "done\n"
        return time.monotonic() - begun


async def _time(shop: Shop, slug: str, url: str) -> float:
    """Seconds that an undisturbed promotion takes."""
    await shop.promote(await shop.export_of(slug, 1))
    return await asyncio.to_thread(_run, url, shop.home)


async def _let_leases_run_out(shop: Shop) -> None:
    async with shop.database.write() as session:
        await session.execute(update(Promotion).values(lease_token=None, lease_until=None))
