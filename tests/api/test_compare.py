"""Comparisons by the JSON API."""

import httpx
import pytest

from app.db import Database
from tests.api.helpers import V1, get, problem
from tests.compare.factories import make_compared


@pytest.fixture
async def ids(database: Database) -> list[str]:
    async with database.write() as session:
        return [
            (
                await make_compared(
                    session,
                    f"run {n}",
                    config={"lr": 10.0**-n, "seed": n, "flag": n == 1} | ({"b": None} if n else {}),
                    solved={5: range(30 + 8 * n)},
                    series={"loss": [1.0, 0.25 * (n + 1)]},
                )
            ).slug
            for n in range(3)
        ]


async def test_two_runs(api: httpx.AsyncClient, ids: list[str]) -> None:
    found = await get(api, "/compare", run=ids[:2], metric="loss", at="best")
    first, second = found["runs"]

    assert (found["metric"], found["at"]) == ("loss", "best")
    assert found["significance"].startswith("B solves 8 more of 64 mazes than A (8 gained, 0 lost)")
    assert second["against"] == {
        "n": 64,
        "gained": 8,
        "lost": 0,
        "p_value": pytest.approx(2 / 2**8),
        "p_adjusted": pytest.approx(2 / 2**8),
    }
    assert first["against"] is None
    assert first["summary"] == {
        "last": 0.25,
        "last_step": 1,
        "best": 0.25,
        "best_step": 1,
        "count": 2,
    }
    assert first["last"]["solve_rate"] == 30 / 64
    assert first["last"]["interval"] == pytest.approx([0.352, 0.589], abs=1e-3)
    assert first["last"]["pass_at_k"] == {"1": 30 / 64}
    assert first["last"]["solvable"] == 50
    assert first["gpu_hours"] is None


async def test_differences_keep_types_and_leave_out_what_is_not_set(
    api: httpx.AsyncClient, ids: list[str]
) -> None:
    found = await get(api, "/compare", run=ids[:2])
    differences = {row["key"]: row["values"] for row in found["differences"]}

    assert differences == {
        "lr": {ids[0]: 1.0, ids[1]: 0.1},
        "seed": {ids[0]: 0, ids[1]: 1},
        "flag": {ids[0]: False, ids[1]: True},
        "b": {ids[1]: None},
    }


async def test_groups(api: httpx.AsyncClient, ids: list[str]) -> None:
    found = await get(api, "/compare", run=ids, metric="loss", group="experiment")
    [group] = found["groups"]

    assert (group["runs"], group["n"], group["mean"]) == (ids, 3, pytest.approx(0.5))
    assert group["deviation"] == pytest.approx(0.25)
    # Student's t of two degrees of freedom: 4.3027.
    assert group["interval"] == pytest.approx([0.5 - 0.6210, 0.5 + 0.6210], abs=1e-4)


@pytest.mark.parametrize("count", [1, 101])
async def test_other_numbers_of_runs_are_refused(
    api: httpx.AsyncClient, ids: list[str], count: int
) -> None:
    asked = (ids * 40)[:count]
    problem(await api.get(f"{V1}/compare", params={"run": asked}), 422)
    # Each run counts once.
    problem(await api.get(f"{V1}/compare", params={"run": [ids[0]] * 2}), 422)


async def test_a_run_that_is_not_there(api: httpx.AsyncClient, ids: list[str]) -> None:
    missing = problem(await api.get(f"{V1}/compare", params={"run": [ids[0], "run-zz"]}), 404)
    assert missing["detail"] == "there is no run run-zz"
