"""Text and numbers that PostgreSQL cannot hold are refused, wherever they come from."""

import base64
import json
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.api.helpers import RECIPE, V1, get, make_experiment, make_external, problem

NUL = "a%00b"
LONE = "\ud800"


def cursor(*values: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(values).encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    "path",
    [
        f"/runs/{NUL}",
        f"/runs/{NUL}/logs",
        f"/runs?sort=metric:{NUL}:best",
        f"/runs?sort=config:{NUL}",
        f"/runs?key={NUL}",
        f"/runs?experiment={NUL}",
        f"/series?run=run-x&key={NUL}",
        f"/recipes/{NUL}",
    ],
)
async def test_addresses_with_nul(api: httpx.AsyncClient, path: str) -> None:
    problem(await api.get(V1 + path), 400)


@pytest.mark.parametrize("path", [f"/runs/{NUL}", f"/runs?q={NUL}", f"/sign-in?token={NUL}"])
async def test_pages_with_nul_in_their_address(anyone: httpx.AsyncClient, path: str) -> None:
    answer = await anyone.get(path)
    assert answer.status_code == 400
    assert "x-request-id" in answer.headers


@pytest.mark.parametrize("wrong", ["a\0b", LONE])
@pytest.mark.parametrize("field", ["name", "recipe", "project", "hypothesis", "tags", "config"])
async def test_bodies_with_text_that_cannot_be_stored(
    api: httpx.AsyncClient, field: str, wrong: str
) -> None:
    body: dict[str, Any] = {"name": "x", "recipe": RECIPE}
    body[field] = {"tags": [wrong], "config": {wrong: wrong}}.get(field, wrong)
    headers = {"Content-Type": "application/json"}
    answer = await api.post(f"{V1}/experiments", content=json.dumps(body).encode(), headers=headers)
    problem(answer, 422)
    assert (await get(api, "/experiments"))["items"] == []


async def test_a_long_yaml_text_is_kept_as_it_is(api: httpx.AsyncClient) -> None:
    yaml = "# why\n" * 20_000 + "trainer.seed: 5\n"
    headers = {"Content-Type": "application/json"}
    body = json.dumps({"name": "long", "recipe": RECIPE, "yaml": yaml}).encode()
    made = await api.post(f"{V1}/experiments", content=body, headers=headers)
    assert made.status_code == 201, made.text
    version = await get(api, f"/experiments/{made.json()['id']}/versions/1")
    assert version["yaml"] == yaml


LONE_CONFIG = {"trainer.run_name": LONE}
LONE_KEY = {LONE: 1}
SPACE = {"kind": "grid", "keys": {"trainer.run_name": [LONE]}}
LIST = {"kind": "explicit", "configs": [LONE_CONFIG]}
BODIES: list[tuple[str, dict[str, Any]]] = [
    *(
        (f"/configs/{route}", {"recipe": RECIPE, "config": config})
        for route in ("validate", "render", "diff")
        for config in (LONE_CONFIG, LONE_KEY, {"trainer.run_name": [{"a": LONE}]})
    ),
    ("/configs/validate", {"recipe": LONE}),
    ("/configs/validate", {"recipe": RECIPE, "cluster": LONE}),
    ("/configs/diff", {"recipe": RECIPE, "other": {"recipe": RECIPE, "config": LONE_CONFIG}}),
    ("/configs/import", {"text": f"trainer.run_name={LONE}"}),
    ("/configs/import", {"text": f"python train.py {LONE}"}),
    ("/configs/import", {"text": f"trainer.run_name: {LONE}"}),
    ("/experiments", {"name": "x", "recipe": RECIPE, "yaml": f"trainer.seed: 1 # {LONE}"}),
    ("/experiments/EXP/versions", {"config": LONE_CONFIG}),
    ("/experiments/EXP/versions", {"yaml": f"trainer.seed: 1 # {LONE}"}),
    ("/experiments/EXP/runs", {"config": LONE_CONFIG}),
    ("/sweeps/preview", {"experiment": "EXP", "space": SPACE}),
    ("/sweeps/preview", {"experiment": "EXP", "space": LIST}),
    ("/sweeps", {"experiment": "EXP", "space": SPACE}),
]


@pytest.mark.parametrize(("path", "body"), BODIES)
async def test_half_a_character_in_a_config(
    api: httpx.AsyncClient, path: str, body: dict[str, Any]
) -> None:
    slug = (await make_experiment(api, "mine"))["id"]
    content = json.dumps(body).replace("EXP", slug).encode()
    headers = {"Content-Type": "application/json"}
    answer = await api.post(V1 + path.replace("EXP", slug), content=content, headers=headers)
    problem(answer, 422)


@pytest.mark.parametrize("key", ["a\0b", LONE])
async def test_metric_keys_that_cannot_be_stored(api: httpx.AsyncClient, key: str) -> None:
    run = await make_external(api)
    body = json.dumps({"points": [{"key": key, "step": 1, "value": 1}]}).encode()
    answer = await api.post(f"{V1}/runs/{run['id']}/metrics", content=body)
    problem(answer, 422)


@pytest.mark.parametrize(
    "number", ["1" + "0" * 400, "-1" + "0" * 400, "1e400", "NaN", "1" + "0" * 5_000]
)
async def test_numbers_beyond_every_float(api: httpx.AsyncClient, number: str) -> None:
    body = f'{{"recipe": "{RECIPE}", "config": {{"trainer.seed": {number}}}}}'.encode()
    headers = {"Content-Type": "application/json"}
    answer = await api.post(f"{V1}/configs/validate", content=body, headers=headers)
    assert answer.status_code in (200, 400, 422)
    if answer.status_code == 200:
        assert answer.json()["errors"][0]["fields"] == ["trainer.seed"]


async def test_a_large_number_of_an_external_run_is_kept(api: httpx.AsyncClient) -> None:
    run = await make_external(api, config={"big": 10**400})
    assert (await get(api, f"/runs/{run['id']}"))["config"]["big"] == 10**400


@pytest.mark.parametrize(
    ("sort", "value"),
    [
        ("name", "a\0b"),
        ("name", LONE),
        ("config:x", 10**400),
        ("config:x", float("nan")),
        ("status", "bogus"),
        ("created_at", "9999-12-31T23:59:59-01:00"),
        ("created_at", "0001-01-01T00:00:00+01:00"),
    ],
)
async def test_cursors_that_nobody_gave_out(
    api: httpx.AsyncClient, sort: str, value: object
) -> None:
    await make_external(api)
    query = {"sort": sort, "cursor": cursor(value, str(uuid4()))}
    problem(await api.get(f"{V1}/runs", params=query), 422)


async def test_a_cursor_of_each_sort_goes_on(api: httpx.AsyncClient) -> None:
    for name in ("a", "b", "c"):
        await make_external(api, name, config={"x": len(name)})
    for sort in ("name", "-status", "created_at", "config:x", "-started_at"):
        first = await get(api, "/runs", sort=sort, limit=2)
        rest = await get(api, "/runs", sort=sort, limit=2, cursor=first["next_cursor"])
        assert len({run["id"] for run in first["items"] + rest["items"]}) == 3


async def test_a_series_cursor_beyond_the_column(api: httpx.AsyncClient) -> None:
    run = await make_external(api)
    body = {"points": [{"key": "loss", "step": 1, "value": 1}]}
    await api.post(f"{V1}/runs/{run['id']}/metrics", json=body)
    [found] = (await get(api, "/series", run=run["id"], key="loss"))["series"]
    series_id = found["cursor"].partition(":")[0]
    for count in (2**31, 10**30, -1):
        query = {"run": run["id"], "key": "loss", "since": f"{series_id}:{count}:1:0"}
        problem(await api.get(f"{V1}/series", params=query), 422)


async def test_an_experiment_is_found_after_all_that(api: httpx.AsyncClient) -> None:
    made = await make_experiment(api, "Größe & Maß")
    assert (await get(api, f"/experiments/{made['id']}"))["name"] == "Größe & Maß"
