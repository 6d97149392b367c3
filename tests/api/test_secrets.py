"""Secrets and consents through the API: names and dates out, values in only."""

import httpx
import pytest

from app.clusters.embedded_policy import Decision
from app.clusters.service import decide_embedded
from app.db import Database
from app.projects import service as projects
from app.settings import Settings
from tests.api.helpers import V1, get, make_experiment, make_run, post, problem
from tests.secrets.conftest import with_keys

VALUE = "hf_Zx81kkLmPq"
PROJECT, SITE = f"{V1}/projects/default/secrets", f"{V1}/secrets"


@pytest.fixture(autouse=True)
async def _keys(application: object, database: Database, settings: Settings) -> None:
    with_keys(database, settings.secret_keys)
    async with database.write() as session:
        await projects.ensure_default(session)


@pytest.mark.parametrize("path", [PROJECT, SITE])
async def test_a_secret_is_put_listed_and_deleted(admin: httpx.AsyncClient, path: str) -> None:
    answer = await admin.put(f"{path}/HF_TOKEN", json={"value": VALUE})
    assert answer.status_code == 201
    assert answer.json().keys() == {
        *("name", "created_by", "created_at", "changed_at", "last_used_at", "config_count")
    }
    assert (await admin.put(f"{path}/HF_TOKEN", json={"value": "the next"})).status_code == 200
    listed = (await admin.get(path)).json()["items"]
    assert [each["name"] for each in listed] == ["HF_TOKEN"]
    assert VALUE not in str(listed) + answer.text
    assert (await admin.delete(f"{path}/HF_TOKEN")).status_code == 204
    assert (await admin.get(path)).json()["items"] == []
    problem(await admin.delete(f"{path}/HF_TOKEN"), 404)


@pytest.mark.parametrize(
    ("name", "body", "field"),
    [
        ("hf_token", {"value": VALUE}, "name"),
        ("RAY_ADDRESS", {"value": VALUE}, "name"),
        ("HF_TOKEN", {"value": "tiny"}, "value"),
        ("HF_TOKEN", {"value": [VALUE]}, "value"),
        ("HF_TOKEN", {}, "value"),
        ("HF_TOKEN", {"value": "€" * 16_000}, "value"),
    ],
)
async def test_what_cannot_be_a_secret_is_refused_without_being_repeated(
    admin: httpx.AsyncClient, name: str, body: dict[str, object], field: str
) -> None:
    answer = await admin.put(f"{PROJECT}/{name}", json=body)
    found = problem(answer, 422)
    assert [each["field"] for each in found["errors"]] == [field]
    assert VALUE not in answer.text


async def test_a_launch_says_which_secret_is_missing(admin: httpx.AsyncClient) -> None:
    await admin.put(f"{PROJECT}/HF_TOKEN", json={"value": VALUE})
    await admin.patch(f"{V1}/clusters/embedded", json={"shows_secrets": True})
    experiment = await make_experiment(admin)
    path = f"{V1}/experiments/{experiment['id']}/runs"
    found = problem(await admin.post(path, json={"overrides": {"job.secrets": "HF_TOKN"}}), 422)
    assert found["errors"][0]["field"] == "job.secrets"
    assert "did you mean HF_TOKEN?" in found["errors"][0]["message"]
    run = await post(admin, path.removeprefix(V1), {"overrides": {"job.secrets": "HF_TOKEN"}})
    assert run["status"] == "queued"
    assert (await get(admin, "/projects/default/secrets"))["items"][0]["config_count"] == 1


async def test_consents_are_given_and_taken_back(admin: httpx.AsyncClient) -> None:
    path = f"{V1}/clusters/embedded"
    changed = (await admin.patch(path, json={"runs_member_code": True})).json()
    assert (changed["runs_member_code"], changed["shows_secrets"]) == (True, False)
    changed = (await admin.patch(path, json={"runs_member_code": False})).json()
    assert changed["runs_member_code"] is False
    problem(await admin.patch(path, json={"runs_member_code": "perhaps"}), 422)
    problem(await admin.patch(f"{V1}/clusters/none", json={}), 404)
    entries = (await get(admin, "/audit", action="cluster.change"))["items"]
    assert len(entries) == 2


async def test_while_the_embedded_cluster_is_off_a_launch_says_why(
    admin: httpx.AsyncClient, database: Database
) -> None:
    async with database.write() as session:
        await decide_embedded(session, Decision(is_on=False, why="a team shares this database"))
    experiment = await make_experiment(admin)
    answer = await admin.post(f"{V1}/experiments/{experiment['id']}/runs", json={})
    found = problem(answer, 422)
    assert found["errors"][0]["rule"] == "embedded_off"
    assert "a team shares this database" in found["detail"]
    [cluster] = (await get(admin, "/clusters"))["items"]
    assert (cluster["status"], cluster["message"]) == ("stopped", "a team shares this database")


async def test_a_process_without_a_key_file_says_so_and_launches_what_needs_none(
    admin: httpx.AsyncClient, database: Database
) -> None:
    database.info.clear()
    problem(await admin.put(f"{SITE}/HF_TOKEN", json={"value": VALUE}), 503)
    assert (await make_run(admin))["status"] == "queued"


async def test_validation_finds_a_value_in_a_config(admin: httpx.AsyncClient) -> None:
    await admin.put(f"{PROJECT}/HF_TOKEN", json={"value": VALUE})
    config = {"data.val_data": VALUE, VALUE: 1, "trainer.seed": "no number"}
    body = {"recipe": "embedded-maze-grpo", "config": config}
    answer = await admin.post(f"{V1}/configs/validate", json=body)
    assert answer.status_code == 200
    found = answer.json()
    assert not found["ok"]
    assert {each["rule"] for each in found["errors"]} == {"holds_secret"}
    assert [each["fields"] for each in found["errors"]] == [["data.val_data"], ["***HF_TOKEN***"]]
    assert "job.secrets" in found["errors"][0]["suggestion"]
    assert VALUE not in answer.text
