"""Runs over the API: launch, list, read, stop, resume, delete, external ones."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import update

from app.db import Database
from app.models import Attempt, AttemptStatus, Run, RunStatus
from app.runs import service as runs
from tests.api.helpers import (
    V1,
    get,
    make_experiment,
    make_external,
    make_run,
    post,
    problem,
)
from tests.queries import QueryCounter

AT = datetime(2026, 11, 29, 12, tzinfo=UTC)


async def set_run(database: Database, run: Any, **values: Any) -> None:
    async with database.write() as session:
        await session.execute(update(Run).where(Run.slug == run["id"]).values(**values))


async def push(api: httpx.AsyncClient, run: Any, **values: float) -> None:
    columns = {"step": [1]} | {key.replace("__", "/"): [v] for key, v in values.items()}
    await post(api, f"/runs/{run['id']}/metrics", columns)


async def test_a_run_is_queued_with_its_own_config(api: httpx.AsyncClient) -> None:
    experiment = await make_experiment(api)
    body = {"overrides": {"trainer.seed": 3}, "name": "third", "tags": ["seed"]}
    answer = await api.post(f"{V1}/experiments/{experiment['id']}/runs", json=body)
    assert answer.status_code == 201
    run = answer.json()
    assert (run["status"], run["desired_status"], run["cluster"]) == ("queued", "run", "embedded")
    assert (run["experiment_id"], run["name"], run["tags"]) == (experiment["id"], "third", ["seed"])
    assert run["config"]["trainer.seed"] == 3
    assert (await get(api, f"/experiments/{experiment['id']}"))["config"]["trainer.seed"] == 0
    assert (run["attempts"], run["summary"], run["conditions"]) == ([], {}, [])
    assert await get(api, f"/runs/{run['id']}") == run


async def test_the_queue_has_positions(api: httpx.AsyncClient) -> None:
    queued = [await make_run(api) for _ in range(3)]
    positions = [(await get(api, f"/runs/{run['id']}"))["queue_position"] for run in queued]
    assert positions == [1, 2, 3]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"overrides": {"trainer.seed": -1}}, 422),
        ({"cluster": "none"}, 404),
        ({"retry": {"limit": 3}}, 422),
        ({"seed": 1}, 422),
    ],
)
async def test_launches_that_are_refused(
    api: httpx.AsyncClient, body: dict[str, Any], status: int
) -> None:
    experiment = await make_experiment(api)
    problem(await api.post(f"{V1}/experiments/{experiment['id']}/runs", json=body), status)
    assert (await get(api, "/runs"))["items"] == []


async def test_a_run_shows_attempts_and_progress(
    api: httpx.AsyncClient, database: Database
) -> None:
    made = await make_run(api)
    failure = {"class": "oom", "message": "killed", "evidence": ["line 3"], "hint": "less"}
    async with database.write() as session:
        run = await runs.get(session, made["id"])
        session.add(
            Attempt(
                run_id=run.id,
                number=1,
                submission_id=f"{made['id']}-a1",
                status=AttemptStatus.FAILED,
                created_at=AT,
                ended_at=AT,
                exit_code=137,
                failure=failure,
            )
        )
    await set_run(
        database, made, step=10, total_steps=20, seconds_per_step=3.0, progress_at=AT, phase="train"
    )
    shown = await get(api, f"/runs/{made['id']}")
    assert shown["attempts"][0]["failure"] == failure
    assert shown["attempts"][0]["ended_at"] == "2026-11-29T12:00:00Z"
    assert shown["progress"]["step"] == 10
    assert datetime.fromisoformat(shown["progress"]["eta"]) == AT + timedelta(seconds=30)


async def test_stopping_writes_a_wish_once(api: httpx.AsyncClient) -> None:
    run = await make_run(api)
    for _ in range(2):
        stopped = await post(api, f"/runs/{run['id']}/stop")
        assert (stopped["status"], stopped["desired_status"]) == ("queued", "stop")
    events = (await get(api, f"/runs/{run['id']}/events"))["items"]
    assert [event["reason"] for event in events] == ["created", "stop_requested"]
    assert {event["actor"] for event in events} == {"ada"}


async def test_what_has_ended_cannot_be_stopped_but_resumed(
    api: httpx.AsyncClient, database: Database
) -> None:
    run = await make_run(api)
    problem(await api.post(f"{V1}/runs/{run['id']}/resume"), 409)
    await set_run(database, run, status=RunStatus.FAILED, ended_at=AT)
    problem(await api.post(f"{V1}/runs/{run['id']}/stop"), 409)
    resumed = await post(api, f"/runs/{run['id']}/resume")
    assert (resumed["status"], resumed["ended_at"]) == ("queued", None)


async def test_a_deleted_run_leaves_the_list_and_comes_back(
    api: httpx.AsyncClient, database: Database
) -> None:
    run = await make_run(api)
    problem(await api.post(f"{V1}/runs/{run['id']}/delete"), 409)
    await set_run(database, run, status=RunStatus.STOPPED)
    assert (await post(api, f"/runs/{run['id']}/delete"))["deleted_at"]
    assert (await get(api, "/runs"))["items"] == []
    assert (await get(api, f"/runs/{run['id']}"))["deleted_at"]
    assert (await post(api, f"/runs/{run['id']}/restore"))["deleted_at"] is None
    assert len((await get(api, "/runs"))["items"]) == 1


async def test_events_go_on_by_cursor(api: httpx.AsyncClient) -> None:
    run = await make_external(api)
    await post(api, f"/runs/{run['id']}/finish", {"status": "failed"})
    first = await get(api, f"/runs/{run['id']}/events", limit=1)
    assert [(e["from"], e["to"]) for e in first["items"]] == [(None, "running")]
    rest = await get(api, f"/runs/{run['id']}/events", limit=1, cursor=first["next_cursor"])
    assert [(e["from"], e["to"]) for e in rest["items"]] == [("running", "failed")]
    assert rest["next_cursor"] is None


@pytest.mark.parametrize("sort", ["-metric:eval/all/pass_at_1:best", "-config:trainer.seed"])
async def test_sorting_by_metric_or_config_over_pages(api: httpx.AsyncClient, sort: str) -> None:
    experiment = await make_experiment(api)
    seeds = {}
    for value in (2, 9, 5):
        body = {"overrides": {"trainer.seed": value}}
        run = await post(api, f"/experiments/{experiment['id']}/runs", body)
        await push(api, run, eval__all__pass_at_1=value / 10)
        seeds[run["id"]] = value
    await make_external(api)
    found: list[Any] = []
    cursor: dict[str, str] = {}
    while True:
        page = await get(api, "/runs", sort=sort, limit=1, **cursor)
        found += page["items"]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert [seeds.get(run["id"]) for run in found] == [9, 5, 2, None]
    assert found[0]["summary"]["eval/all/pass_at_1"]["best"] == 0.9


async def test_a_list_gives_the_summaries_asked_for(api: httpx.AsyncClient) -> None:
    run = await make_external(api)
    await push(api, run, loss=1.5, other=2.0)
    [plain] = (await get(api, "/runs"))["items"]
    [asked] = (await get(api, "/runs", key="loss"))["items"]
    assert plain["summary"] == {}
    assert asked["summary"]["loss"]["last"] == 1.5
    assert (await get(api, f"/runs/{run['id']}"))["summary"].keys() == {"loss", "other"}


async def test_the_cost_of_the_list_does_not_grow(
    api: httpx.AsyncClient, database: Database, count_queries: QueryCounter
) -> None:
    costs = []
    for _ in range(2):
        for _ in range(3):
            await push(api, await make_run(api), eval__all__pass_at_1=0.5)
        with count_queries(database) as counted:
            await get(api, "/runs")
        costs.append(counted.count)
    assert costs[0] == costs[1]


@pytest.mark.parametrize("sort", ["colour", "metric:loss", "metric:loss:median", "config:", ""])
async def test_orders_that_there_are_not(api: httpx.AsyncClient, sort: str) -> None:
    errors = problem(await api.get(f"{V1}/runs", params={"sort": sort}), 422)["errors"]
    assert errors[0]["field"] == "sort"


async def test_a_filter_narrows_or_is_refused_with_its_place(api: httpx.AsyncClient) -> None:
    await make_external(api, "a")
    wanted = await make_external(api, "b")
    answer = await api.get(f"{V1}/runs", params={"filter": "name = b"})
    assert [each["id"] for each in answer.json()["items"]] == [wanted["id"]]
    answer = await api.get(f"{V1}/runs", params={"filter": "name = "})
    assert problem(answer, 422)["errors"][0]["field"] == "filter"


async def test_only_runs_of_an_experiment(api: httpx.AsyncClient) -> None:
    await make_external(api, "a")
    wanted = await make_external(api, "b")
    [found] = (await get(api, "/runs", experiment=wanted["experiment_id"]))["items"]
    assert found["id"] == wanted["id"]


async def test_an_external_run_from_start_to_end(api: httpx.AsyncClient) -> None:
    run = await make_external(api, "verl", config={"a.b": 1, "c": {"d": "x"}}, tags=["t"])
    assert (run["status"], run["origin"], run["cluster"]) == ("running", "external", None)
    assert run["started_at"]
    finished = await post(api, f"/runs/{run['id']}/finish", {"status": "succeeded"})
    assert finished["status"] == "succeeded"
    assert finished["ended_at"]
    answer = await api.post(f"{V1}/runs/{run['id']}/finish", json={"status": "failed"})
    problem(answer, 409)


async def test_the_step_of_an_external_run_is_the_highest_one_pushed(
    api: httpx.AsyncClient,
) -> None:
    run, empty = await make_external(api, "a"), await make_external(api, "b")
    points = [{"key": key, "step": step, "value": 1} for key, step in (("x", 7), ("y", 4))]
    await post(api, f"/runs/{run['id']}/metrics", {"points": points})
    assert (await get(api, f"/runs/{run['id']}"))["progress"]["step"] == 7
    listed = {item["id"]: item for item in (await get(api, "/runs"))["items"]}
    assert listed[run["id"]]["progress"]["step"] == 7
    assert listed[empty["id"]]["progress"]["step"] is None


async def test_external_runs_end_in_an_end(api: httpx.AsyncClient) -> None:
    run = await make_external(api)
    for status in ("running", "done"):
        answer = await api.post(f"{V1}/runs/{run['id']}/finish", json={"status": status})
        problem(answer, 422)


async def test_runs_of_one_experiment_share_it_by_name(api: httpx.AsyncClient) -> None:
    made = [await make_external(api, name, experiment="sweep") for name in ("a", "b")]
    assert len({run["experiment_id"] for run in made}) == 1


@pytest.mark.parametrize("path", ["", "/events", "/logs", "/logs.txt", "/metrics"])
async def test_an_unknown_run(api: httpx.AsyncClient, path: str) -> None:
    problem(await api.get(f"{V1}/runs/run-none{path}"), 404)
