"""`skydeck run compare` against a real server."""

import asyncio
import json
from pathlib import Path

import pytest

from app.db import Database
from app.settings import Settings
from tests.cli.conftest import Skydeck
from tests.compare.factories import make_compared

pytestmark = pytest.mark.usefixtures("server")


@pytest.fixture
def ids(server: str, home: Path) -> list[str]:
    async def make() -> list[str]:
        database = Database(Settings(home=home).url)
        async with database.write() as session:
            made = [
                await make_compared(
                    session,
                    f"run {n}",
                    config={"trainer.lr": 10.0**-n, "seed": n, **({"x": "y" * 90} if n else {})},
                    solved={3: range(20 + 12 * n)},
                    series={"loss": [1.0, 0.5]},
                )
                for n in range(2)
            ]
        await database.close()
        return [run.slug for run in made]

    return asyncio.run(make())


def test_results_differences_and_the_sentence(skydeck: Skydeck, ids: list[str]) -> None:
    told = skydeck("run", "compare", *ids, "--group", "experiment")

    assert (told.status, told.err) == (0, "")
    assert "A  " + ids[0] + "  20/64 31.2 % [21-43] at 3" in told.out
    assert "trainer.lr  1.0" in told.out
    assert "(not set)" in told.out
    assert "grid   A B   0.4062 ± 0.1326 (n = 2)" in told.out
    assert told.out.rstrip().endswith(
        "B solves 12 more of 64 mazes than A (12 gained, 0 lost); McNemar p < 0.001"
    )


def test_another_metric(skydeck: Skydeck, ids: list[str]) -> None:
    told = skydeck("run", "compare", *ids, "--metric", "loss", "--at", "best")
    head = told.out.splitlines()[0].split("  ")

    assert "loss LAST" in [cell.strip() for cell in head]
    assert "0.5" in told.out.splitlines()[1]


def test_as_json(skydeck: Skydeck, ids: list[str]) -> None:
    found = json.loads(skydeck("run", "compare", *ids, "--json").out)
    assert [run["id"] for run in found["runs"]] == ids


def test_one_run_is_too_few(skydeck: Skydeck, ids: list[str]) -> None:
    refused = skydeck("run", "compare", ids[0])
    assert refused.status == 1
    assert len(refused.err.strip().splitlines()) == 1
