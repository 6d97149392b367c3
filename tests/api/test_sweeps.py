"""Sweeps over the API."""

from typing import Any

import httpx

from tests.api.helpers import V1, get, make_experiment, post, problem

SEED, RATE = "trainer.seed", "trainer.policy.optimizer_config.lr"
GRID = {"kind": "grid", "keys": {SEED: [1, 2], RATE: [0.001, 0.002]}}


def body(experiment: Any, space: Any = GRID, **given: Any) -> dict[str, Any]:
    return {"experiment": experiment["id"], "space": space} | given


async def test_a_preview_shows_each_config_and_makes_nothing(api: httpx.AsyncClient) -> None:
    home = await make_experiment(api)
    space = {"kind": "explicit", "configs": [{SEED: 1}, {SEED: "x"}, {"trainer.sed": 2}]}
    seen = await post(api, "/sweeps/preview", body(home, space))
    assert (seen["ok"], seen["total"], seen["limit"], seen["is_cut"]) == (False, 3, 200, False)
    assert [(each["number"], each["ok"]) for each in seen["items"]] == [
        (1, True),
        (2, False),
        (3, False),
    ]
    assert seen["items"][2]["errors"][0]["rule"] == "unknown_key"
    assert [each["field"] for each in seen["errors"]] == [f"runs.2.{SEED}", "runs.3.trainer.sed"]
    seen = await post(api, "/sweeps/preview", body(home, space, exclude=[2, 3]))
    assert (seen["ok"], seen["run_count"]) == (True, 1)
    assert (await get(api, "/sweeps"))["items"] == []


async def test_a_preview_of_a_larger_grid_says_how_large(api: httpx.AsyncClient) -> None:
    home = await make_experiment(api)
    huge = {"kind": "grid", "keys": {SEED: list(range(100)), RATE: [i / 1000 for i in range(1, 4)]}}
    seen = await post(api, "/sweeps/preview", body(home, huge))
    assert (seen["total"], seen["is_cut"], len(seen["items"])) == (300, True, 200)
    assert "at most 200 runs" in seen["errors"][0]["message"]
    problem(await api.post(f"{V1}/sweeps", json=body(home, huge)), 422)


async def test_a_random_sweep_draws_the_same_again(api: httpx.AsyncClient) -> None:
    home = await make_experiment(api)
    keys = {
        RATE: {"kind": "log_uniform", "low": 1e-4, "high": 1e-2},
        SEED: {"kind": "int", "low": 0, "high": 99},
    }
    space = {"kind": "random", "keys": keys, "count": 5, "seed": 3}
    seen = await post(api, "/sweeps/preview", body(home, space))
    made = await post(api, "/sweeps", body(home, space))
    drawn = [each["overrides"] for each in seen["items"]]
    assert [each["values"] for each in made["runs"]] == drawn
    assert made["space"] == space


async def test_a_sweep_is_made_once(api: httpx.AsyncClient) -> None:
    home, key = await make_experiment(api), {"Idempotency-Key": "k"}
    wanted = body(home, name="Rates", max_running_runs=2, exclude=[4])
    made = await post(api, "/sweeps", wanted, headers=key)
    assert await post(api, "/sweeps", wanted, headers=key) == made
    assert await get(api, f"/sweeps/{made['id']}") == made
    assert [(run["number"], run["name"]) for run in made["runs"]] == [
        (1, "seed=1, lr=0.001"),
        (2, "seed=1, lr=0.002"),
        (3, "seed=2, lr=0.001"),
    ]
    assert (made["kind"], made["version"], made["counts"]) == ("grid", 1, {"queued": 3})
    run = await get(api, f"/runs/{made['runs'][1]['id']}")
    assert (run["sweep_id"], run["experiment_version"]) == (made["id"], 1)
    assert (run["has_overrides"], run["config"][RATE]) == (True, 0.002)
    (listed,) = (await get(api, "/sweeps", experiment=home["id"]))["items"]
    assert (listed["id"], listed["run_count"], listed["runs"]) == (made["id"], 3, None)


async def test_a_sweep_is_stopped_as_one(api: httpx.AsyncClient) -> None:
    made = await post(api, "/sweeps", body(await make_experiment(api)))
    for _ in range(2):
        await post(api, f"/sweeps/{made['id']}/stop")
    for run in made["runs"]:
        assert (await get(api, f"/runs/{run['id']}"))["desired_status"] == "stop"
    again = await post(api, f"/sweeps/{made['id']}/resume")
    assert again["counts"] == {"queued": 4}


async def test_wrong_spaces(api: httpx.AsyncClient) -> None:
    home = await make_experiment(api)
    for space in (
        {"kind": "grid", "keys": {SEED: 1}},
        {"kind": "grid", "keys": {"a\0": [1]}},
        {"kind": "grid", "keys": {}},
        {"kind": "random", "keys": {SEED: {"kind": "gauss"}}, "count": 2},
        {"kind": "random", "keys": {SEED: {"kind": "int", "low": 3, "high": 1}}, "count": 2},
        {"kind": "random", "keys": {RATE: {"kind": "uniform", "low": 0, "high": 1}}, "count": 900},
        {"kind": "explicit", "configs": []},
        {"kind": "walk"},
    ):
        problem(await api.post(f"{V1}/sweeps", json=body(home, space)), 422)
    problem(await api.post(f"{V1}/sweeps", json=body(home, version=4)), 404)
    problem(await api.post(f"{V1}/sweeps", json=body(home, cluster="none")), 404)
    problem(await api.post(f"{V1}/sweeps", json=body({"id": "exp-none"})), 404)
    problem(await api.get(f"{V1}/sweeps/swp-none"), 404)
    assert (await get(api, "/runs"))["items"] == []
