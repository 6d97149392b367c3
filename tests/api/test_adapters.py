"""Checkpoints, promotions and adapters over the API."""

import httpx
import pytest

from app.db import Database
from app.models import CheckpointKind, PromotionStatus, Run
from app.runs import service as runs
from tests.adapters.conftest import evaluation
from tests.api.helpers import V1, get, make_run, post, problem
from tests.factories import make_checkpoint, make_promotion


@pytest.fixture
async def run(api: httpx.AsyncClient) -> str:
    return str((await make_run(api))["id"])


async def stored(database: Database, slug: str) -> Run:
    async with database.read() as session:
        return await runs.get(session, slug)


async def add(database: Database, slug: str, step: int, **given: object) -> str:
    async with database.write() as session:
        run = await runs.get(session, slug)
        return (await make_checkpoint(session, run, step, **given)).slug  # type: ignore[arg-type]


async def test_checkpoints_come_with_what_was_measured(
    api: httpx.AsyncClient, database: Database, run: str
) -> None:
    for step in (20, 40):
        await add(database, run, step)
        await add(database, run, step, kind=CheckpointKind.STATE)
    async with database.write() as session:
        row = await runs.get(session, run)
        session.add(evaluation(row, 40, solved=6))
    page = await get(api, f"/runs/{run}/checkpoints", limit=3)
    rest = await get(api, f"/runs/{run}/checkpoints", cursor=page["next_cursor"])
    items = page["items"] + rest["items"]
    assert [item["step"] for item in items] == [40, 40, 20, 20]
    assert {item["kind"] for item in items} == {"state", "adapter"}
    newest = next(item for item in items if item["kind"] == "adapter")
    assert newest["solve_rate"] == 0.75
    assert (newest["pass_at_1"], newest["n"], newest["complete"]) == (1.0, 8, True)
    assert newest["is_best_evaluated"]
    assert newest["is_best_exportable"]
    assert [item["solve_rate"] for item in rest["items"]] == [None]
    only = await get(api, f"/runs/{run}/checkpoints", kind="state")
    assert [item["kind"] for item in only["items"]] == ["state", "state"]


async def test_a_checkpoint_is_promoted_and_followed(
    api: httpx.AsyncClient, database: Database, run: str
) -> None:
    checkpoint = await add(database, run, 20)
    made = await post(api, f"/checkpoints/{checkpoint}/promote")
    assert made["status"] == "queued"
    assert made["progress"] == {"copied_bytes": 0, "total_bytes": None, "fraction": 0.0}
    assert (made["error"], made["adapter_name"]) == (None, f"{run}-s20")
    assert made["model"] == f"maze-base:{run}-s20"
    assert await post(api, f"/checkpoints/{checkpoint}/promote", {}) == made
    assert await get(api, f"/promotions/{made['id']}") == made
    named = {"adapter_name": "mine", "destination": "embedded", "endpoint": "embedded"}
    answer = await api.post(f"{V1}/checkpoints/{checkpoint}/promote", json=named)
    assert answer.status_code == 201
    listed = await get(api, "/adapters", run=run)
    assert [item["name"] for item in listed["items"]] == ["mine", f"{run}-s20"]
    first = listed["items"][0]
    assert (first["status"], first["run_id"], first["step"]) == ("promoting", run, 20)
    assert await get(api, f"/adapters/{first['id']}") == first


async def test_a_name_in_use_answers_409_with_another(
    api: httpx.AsyncClient, database: Database, run: str
) -> None:
    first, second = await add(database, run, 20), await add(database, run, 40)
    await post(api, f"/checkpoints/{first}/promote", {"adapter_name": "mine"})
    body = {"adapter_name": "mine"}
    answer = await api.post(f"{V1}/checkpoints/{second}/promote", json=body)
    assert "mine-2" in problem(answer, 409)["detail"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"adapter_name": "../x"}, "adapter_name"),
        ({"destination": "s3://bucket"}, "destination"),
        ({"endpoint": "end-unknown"}, "endpoint"),
    ],
)
async def test_what_cannot_be_accepted_names_its_field(
    api: httpx.AsyncClient, database: Database, run: str, body: dict[str, str], field: str
) -> None:
    checkpoint = await add(database, run, 20)
    answer = problem(await api.post(f"{V1}/checkpoints/{checkpoint}/promote", json=body), 422)
    assert [error["field"] for error in answer["errors"]] == [field]


async def test_a_state_and_what_is_not_there_cannot_be_promoted(
    api: httpx.AsyncClient, database: Database, run: str
) -> None:
    state = await add(database, run, 20, kind=CheckpointKind.STATE)
    problem(await api.post(f"{V1}/checkpoints/{state}/promote"), 409)
    problem(await api.post(f"{V1}/checkpoints/ckpt-nothing/promote"), 404)
    problem(await api.get(f"{V1}/promotions/prm-nothing"), 404)
    problem(await api.get(f"{V1}/adapters/adp-nothing"), 404)


async def test_a_failed_promotion_says_why_and_what_to_do(
    api: httpx.AsyncClient, database: Database, run: str
) -> None:
    async with database.write() as session:
        row = await runs.get(session, run)
        made = await make_promotion(session, row, status=PromotionStatus.FAILED)
    answer = await get(api, f"/promotions/{made.slug}")
    assert answer["status"] == "failed"
    assert answer["error"]["kind"] == "weights_broken"
    assert answer["error"]["hint"]


async def test_a_deleted_adapter_is_in_no_list_unless_asked_for(
    api: httpx.AsyncClient, database: Database, run: str
) -> None:
    async with database.write() as session:
        made = await make_promotion(session, await runs.get(session, run))
        slug = made.adapter.slug
    assert (await api.delete(f"{V1}/adapters/{slug}")).status_code == 204
    assert (await api.delete(f"{V1}/adapters/{slug}")).status_code == 204
    assert (await get(api, "/adapters"))["items"] == []
    (item,) = (await get(api, "/adapters", deleted=True))["items"]
    assert (item["status"], item["id"]) == ("deleted", slug)
