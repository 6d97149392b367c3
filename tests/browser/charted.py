"""Runs with long series for tests of charts, and the page that shows them."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from urllib.parse import urlencode

import numpy as np
from playwright.async_api import Locator, Page

from app.metrics.columns import Columns
from app.metrics.ingest import ingest_columns
from app.models import RunStatus
from app.runs import service as runs
from tests.browser.conftest import Site, opened
from tests.factories import make_external_run

STEPS = 2_000
KEYS = ("loss", "reward/mean", "policy/kl", "a", "b", "c")
MANY = 50
NAMES = ("plain", "<b>bold</b>", "third")


@dataclass(frozen=True, slots=True)
class Charted:
    """Runs that go on, with long series; some values of `loss` are no numbers."""

    few: tuple[str, ...]
    many: tuple[str, ...]
    steps: Iterator[int]
    """Where the next points begin: tests come in any order, steps do not."""


async def make_charted(site: Site) -> Charted:
    async with opened(site.database_url) as database:
        slugs = []
        for number in range(MANY):
            async with database.write() as session:
                name = NAMES[number] if number < len(NAMES) else f"seed {number}"
                run = await make_external_run(session, name=name)
                run.status = RunStatus.RUNNING
                await ingest_columns(session, run.id, 1, series(number, 1, STEPS))
                slugs.append(run.slug)
        async with database.write() as session:
            # The third was resumed, and went another way from step 1,500 on.
            run = await runs.get(session, slugs[2])
            await ingest_columns(session, run.id, 2, series(7, 1_500, 1_800))
    return Charted(tuple(slugs[:3]), tuple(slugs), count(3_000, 100))


async def grow(site: Site, charted: Charted, slugs: tuple[str, ...]) -> list[int]:
    """Five more points of each key, after all that were there; returns their steps."""
    first = next(charted.steps)
    async with opened(site.database_url) as database:
        for number, slug in enumerate(slugs):
            async with database.write() as session:
                run = await runs.get(session, slug)
                attempt = 2 if slug == charted.few[2] else 1
                points = series(number + 100, first, first + 4)
                await ingest_columns(session, run.id, attempt, points)
    return list(range(first, first + 5))


def address(slugs: tuple[str, ...], *keys: str, **settings: str) -> str:
    query = [*(("run", slug) for slug in slugs), *(("key", key) for key in keys)]
    return "/charts?" + urlencode([*query, *settings.items()])


def panel(page: Page, key: str) -> Locator:
    return page.locator(f"[data-panel][data-key='{key}']")


def series(seed: int, first: int, last: int) -> dict[str, Columns]:
    random = np.random.default_rng(seed)
    steps = np.arange(first, last + 1, dtype=np.int64)
    times = (1_790_000_000.0 + steps * 1.5).astype(np.float64)
    found = {}
    for key in KEYS:
        values = np.cumsum(random.normal(size=steps.size)) * 0.1 + 5
        found[key] = Columns(steps, values, times)
    if first == 1:
        found["loss"].values[500:505] = np.nan
        found["loss"].values[900] = np.inf
    found["trainer/epoch"] = Columns(steps, steps / 100, times)
    return found
