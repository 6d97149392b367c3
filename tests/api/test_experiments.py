"""Experiments over the API."""

import httpx

from app.db import Database
from tests.api.helpers import RECIPE, V1, get, make_experiment, make_external, post, problem
from tests.queries import QueryCounter


async def test_an_experiment_is_made_with_a_full_config(api: httpx.AsyncClient) -> None:
    body = {
        "name": "Rank",
        "recipe": RECIPE,
        "config": {"trainer.policy.model.lora.alpha": 16},
        "hypothesis": "Less is enough",
        "tags": ["lora", "lora"],
    }
    answer = await api.post(f"{V1}/experiments", json=body)
    assert answer.status_code == 201
    made = answer.json()
    assert made["config"]["trainer.policy.model.lora.alpha"] == 16.0
    assert made["config"]["trainer.max_training_steps"] == 280
    assert (made["version"], made["tags"], made["owner"]) == (1, ["lora"], "ada")
    assert await get(api, f"/experiments/{made['id']}") == made


async def test_equal_configs_have_equal_digests(api: httpx.AsyncClient) -> None:
    body = {"name": "a", "recipe": RECIPE}
    plain = await post(api, "/experiments", body)
    spelt_out = await post(api, "/experiments", body | {"config": {"trainer.seed": 0}})
    other = await post(api, "/experiments", body | {"config": {"trainer.seed": 1}})
    assert plain["digest"] == spelt_out["digest"] != other["digest"]


async def test_the_list_goes_on_by_cursor(api: httpx.AsyncClient) -> None:
    made = [(await make_experiment(api, str(number)))["id"] for number in range(5)]
    found: list[str] = []
    cursor = None
    while True:
        page = await get(api, "/experiments", limit=2, **({"cursor": cursor} if cursor else {}))
        assert len(page["items"]) <= 2
        found += [item["id"] for item in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert found == made[::-1]


async def test_the_cost_of_a_list_does_not_grow(
    api: httpx.AsyncClient, database: Database, count_queries: QueryCounter
) -> None:
    costs = []
    for _ in range(2):
        for number in range(3):
            await make_experiment(api, str(number))
        with count_queries(database) as counted:
            await get(api, "/experiments")
        costs.append(counted.count)
    assert costs[0] == costs[1]


async def test_one_of_external_runs_has_no_config(api: httpx.AsyncClient) -> None:
    run = await make_external(api, experiment="verl")
    found = await get(api, f"/experiments/{run['experiment_id']}")
    assert (found["name"], found["recipe"], found["config"]) == ("verl", None, None)


async def test_unknown_things(api: httpx.AsyncClient) -> None:
    problem(await api.get(f"{V1}/experiments/exp-none"), 404)
    body = {"name": "x", "recipe": RECIPE, "project": "none"}
    problem(await api.post(f"{V1}/experiments", json=body), 404)


async def test_a_config_as_typed_is_kept_and_given_back(api: httpx.AsyncClient) -> None:
    text = "# why\ntrainer.seed: 3 # not 4\n"
    body = {"name": "typed", "recipe": RECIPE, "yaml": text}
    made = await post(api, "/experiments", body)
    assert made["config"]["trainer.seed"] == 3
    url = f"{V1}/experiments/{made['id']}/versions"
    assert (await api.get(f"{url}/1")).json()["yaml"] == text
    again = await api.post(url, json={"yaml": text, "config": {"trainer.seed": 3}})
    assert (again.status_code, again.json()["version"]) == (200, 1)
    other = await api.post(url, json={"yaml": f"{text}# more\n"})
    assert (other.status_code, other.json()["changes"]) == (201, [])
    assert other.json()["digest"] == made["digest"]
    listed = (await api.get(url)).json()["items"]
    assert [each["yaml"] for each in listed] == [None, None]
    refused = await api.post(url, json={"yaml": text, "config": {"trainer.seed": 4}})
    assert refused.status_code == 422
    assert [each["field"] for each in refused.json()["errors"]] == ["yaml"]
    for wrong in ("trainer.seed: [3\n", "x" * 140_000):
        assert (await api.post(url, json={"yaml": wrong})).status_code == 422
