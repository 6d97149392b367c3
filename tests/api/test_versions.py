"""Versions, changes, forks and the archive of experiments over the API."""

import httpx

from tests.api.helpers import V1, get, make_experiment, post, problem

CONFIG = {"trainer.seed": 3}


async def test_a_version_is_made_once(api: httpx.AsyncClient) -> None:
    made = await make_experiment(api)
    path = f"{V1}/experiments/{made['id']}/versions"
    first = await api.post(path, json={"config": CONFIG, "after": 1})
    again = await api.post(path, json={"config": CONFIG})
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json()
    assert first.json()["version"] == 2
    assert first.json()["changes"] == [
        {"key": "trainer.seed", "before": 0, "after": 3, "is_new": False, "is_gone": False}
    ]
    problem(await api.post(path, json={"config": {}, "after": 1}), 409)
    found = problem(await api.post(path, json={"config": {"trainer.sed": 1}}), 422)
    assert found["errors"][0]["field"] == "trainer.sed"
    newest = await get(api, f"/experiments/{made['id']}")
    assert (newest["version"], newest["digest"]) == (2, first.json()["digest"])


async def test_a_repeated_call_makes_one_version(api: httpx.AsyncClient) -> None:
    made = await make_experiment(api)
    path, key = f"/experiments/{made['id']}/versions", {"Idempotency-Key": "k"}
    first = await post(api, path, {"config": CONFIG}, headers=key)
    await post(api, path, {"config": {}})
    assert await post(api, path, {"config": CONFIG}, headers=key) == first
    listed = await get(api, path, limit=2)
    assert [each["version"] for each in listed["items"]] == [3, 2]
    rest = await get(api, path, limit=2, cursor=listed["next_cursor"])
    assert [each["version"] for each in rest["items"]] == [1]


async def test_two_versions_are_compared(api: httpx.AsyncClient) -> None:
    made = await make_experiment(api)
    await post(api, f"/experiments/{made['id']}/versions", {"config": CONFIG})
    path = f"/experiments/{made['id']}"
    found = await get(api, f"{path}/diff", **{"from": 2, "to": 1})
    assert (found["from"], found["to"]) == (2, 1)
    assert [(each["key"], each["before"], each["after"]) for each in found["items"]] == [
        ("trainer.seed", 3, 0)
    ]
    assert (await get(api, f"{path}/versions/1"))["config"]["trainer.seed"] == 0
    problem(await api.get(f"{V1}{path}/diff", params={"from": 1, "to": 8}), 404)
    problem(await api.get(f"{V1}{path}/versions/0"), 422)


async def test_a_run_says_its_version(api: httpx.AsyncClient) -> None:
    made = await make_experiment(api)
    await post(api, f"/experiments/{made['id']}/versions", {"config": CONFIG})
    path = f"/experiments/{made['id']}/runs"
    plain = await post(api, path, {"version": 1})
    mixed = await post(api, path, {"overrides": {"trainer.seed": 8}})
    assert (plain["experiment_version"], plain["has_overrides"]) == (1, False)
    assert (mixed["experiment_version"], mixed["has_overrides"]) == (2, True)


async def test_an_experiment_is_changed_forked_archived_and_restored(
    api: httpx.AsyncClient,
) -> None:
    made = await make_experiment(api)
    path = f"{V1}/experiments/{made['id']}"
    changed = await api.patch(path, json={"tags": ["lora"], "revision": made["revision"]})
    assert (changed.json()["tags"], changed.json()["name"]) == (["lora"], made["name"])
    problem(await api.patch(path, json={"name": "x", "revision": made["revision"]}), 409)
    fork = await post(api, f"/experiments/{made['id']}/fork", {"name": "Other"})
    assert fork["forked_from"] == {"id": made["id"], "version": 1}
    assert (fork["digest"], fork["tags"]) == (made["digest"], ["lora"])
    archived = await post(api, f"/experiments/{made['id']}/archive")
    assert archived["archived_at"]
    problem(await api.post(f"{path}/runs", json={}), 409)
    assert [each["id"] for each in (await get(api, "/experiments"))["items"]] == [fork["id"]]
    shelved = await get(api, "/experiments", archived=True, tag="lora", q="rank")
    assert [each["id"] for each in shelved["items"]] == [made["id"]]
    await post(api, f"/experiments/{made['id']}/restore")
    assert len((await get(api, "/experiments"))["items"]) == 2
