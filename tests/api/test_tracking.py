"""MLflow's API without its client: what tokens of one run may do, and what is refused."""

from typing import Any

import httpx
import pytest
from sqlalchemy import update

from app.access.permissions import Scope
from app.clock import utcnow
from app.db import Database
from app.metrics import service as metrics
from app.models import Attempt, AttemptStatus, Run
from app.runs import service as runs
from app.tracking.api import PREFIX
from app.tracking.search import filter_of, order_of
from app.users import service as users
from tests.api.helpers import V1, bearer, make_token, problem
from tests.factories import make_run


async def a_job(database: Database, *, attempt: int = 2) -> tuple[Run, dict[str, str]]:
    """A run of a worker with its attempts, and what the newest one's job may send."""
    async with database.write() as session:
        run = await make_run(session)
        for number in range(1, attempt + 1):
            session.add(
                Attempt(
                    run_id=run.id,
                    number=number,
                    submission_id=f"{run.slug}-a{number}",
                    status=AttemptStatus.RUNNING,
                    created_at=utcnow(),
                    ended_at=None if number == attempt else utcnow(),
                )
            )
        await session.flush()
        _, secret = await users.create_run_token(session, run, attempt)
    return run, bearer(secret)


async def call(
    client: httpx.AsyncClient, path: str, body: Any = None, **options: Any
) -> httpx.Response:
    if body is None:
        return await client.get(f"{PREFIX}/{path}", **options)
    return await client.post(f"{PREFIX}/{path}", json=body, **options)


async def test_a_job_gets_its_own_run_and_attempt(
    anyone: httpx.AsyncClient, database: Database
) -> None:
    run, headers = await a_job(database)
    found = await call(
        anyone,
        "experiments/get-by-name",
        params={"experiment_name": "anything"},
        headers=headers,
    )
    assert found.json()["experiment"]["name"] == "anything"
    body = {"experiment_id": "anything", "run_name": "a new one"}
    made = (await call(anyone, "runs/create", body, headers=headers)).json()["run"]
    assert made["info"]["run_id"] == run.slug
    for step in (1, 2):
        point = {"run_id": run.slug, "key": "loss", "value": step / 2, "step": step}
        answer = await call(anyone, "runs/log-metric", point, headers=headers)
        assert answer.json() == {}
    end = {"run_id": run.slug, "status": "FINISHED"}
    assert (await call(anyone, "runs/update", end, headers=headers)).is_success
    async with database.read() as session:
        stored = await runs.get(session, run.slug)
        (series,) = await metrics.list_series(session, stored)
    assert (series.key, series.count, series.newest_attempt) == ("loss", 2, 2)
    assert stored.status == run.status


async def test_a_job_reads_and_changes_nothing_else(
    anyone: httpx.AsyncClient, database: Database
) -> None:
    run, headers = await a_job(database)
    for path in ("/runs", f"/runs/{run.slug}", "/experiments", "/tokens"):
        assert (await anyone.get(V1 + path, headers=headers)).status_code in (403, 404), path
    for path, body in (("finish", {"status": "failed"}), ("stop", {}), ("delete", {})):
        answer = await anyone.post(f"{V1}/runs/{run.slug}/{path}", json=body, headers=headers)
        assert answer.status_code in (403, 404), path
    gone = await call(anyone, "runs/delete", {"run_id": run.slug}, headers=headers)
    assert (gone.status_code, gone.json()["error_code"]) == (403, "PERMISSION_DENIED")


async def test_the_token_of_an_attempt_ends_with_it(
    anyone: httpx.AsyncClient, database: Database
) -> None:
    run, headers = await a_job(database, attempt=1)
    async with database.write() as session:
        (attempt,) = (await runs.get(session, run.slug)).attempts
        attempt.ended_at = utcnow()
    answer = await call(anyone, "runs/get", params={"run_id": run.slug}, headers=headers)
    assert answer.status_code == 401
    assert answer.json()["error_code"] == "UNAUTHENTICATED"


async def test_a_resumed_job_may_set_its_params_again(
    anyone: httpx.AsyncClient, database: Database
) -> None:
    """Its config may say something else by then; a client that is refused ends the training."""
    run, headers = await a_job(database)
    for value in ("1e-6", "3e-6"):
        body = {"run_id": run.slug, "params": [{"key": "lr", "value": value}]}
        answer = await call(anyone, "runs/log-batch", body, headers=headers)
        assert answer.json() == {}
    found = await call(anyone, "runs/get", params={"run_id": run.slug}, headers=headers)
    assert found.json()["run"]["data"]["params"] == [{"key": "lr", "value": "3e-6"}]


async def test_a_jobs_experiment_is_active_to_it_though_it_was_archived(
    anyone: httpx.AsyncClient, database: Database
) -> None:
    run, headers = await a_job(database)
    async with database.write() as session:
        stored = await runs.get(session, run.slug)
        stored.experiment.archived_at = utcnow()
        name, slug = stored.experiment.name, stored.experiment.slug
    for path, query in (
        ("experiments/get-by-name", {"experiment_name": name}),
        ("experiments/get", {"experiment_id": slug}),
    ):
        found = await call(anyone, path, params=query, headers=headers)
        # MLflow's client refuses to log to any other.
        assert found.json()["experiment"]["lifecycle_stage"] == "active"


async def test_params_are_config_values_for_filters(
    api: httpx.AsyncClient, database: Database
) -> None:
    made = (await call(api, "experiments/create", {"name": "mazes"})).json()["experiment_id"]
    run = (await call(api, "runs/create", {"experiment_id": made, "run_name": "a"})).json()["run"]
    body = {"run_id": run["info"]["run_id"], "params": [{"key": "lr", "value": "3e-06"}]}
    assert (await call(api, "runs/log-batch", body)).is_success
    for filter_text, count in (('config("lr") < 1e-5', 1), ('config("lr") = 1', 0)):
        found = await api.get(f"{V1}/runs", params={"filter": filter_text})
        assert len(found.json()["items"]) == count, filter_text
    wrong = await call(api, "runs/log-batch", body | {"params": [{"key": "lr", "value": "1"}]})
    assert (wrong.status_code, wrong.json()["error_code"]) == (400, "INVALID_PARAMETER_VALUE")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("runs/create", {}),
        ("runs/log-metric", {"run_id": "run-x"}),
        ("runs/log-batch", {"run_id": "run-x", "metrics": 3}),
        ("runs/log-batch", {"run_id": "run-x", "params": [3]}),
        ("runs/search", {"filter": "what ever"}),
        ("runs/search", {"order_by": ["tags.x"]}),
        ("runs/search", {"max_results": "x"}),
        ("runs/search", []),
    ],
)
async def test_nonsense_is_refused_in_their_words(
    api: httpx.AsyncClient, path: str, body: Any
) -> None:
    answer = await call(api, path, body)
    assert answer.status_code in (400, 404), answer.text
    assert answer.json()["error_code"] in ("INVALID_PARAMETER_VALUE", "RESOURCE_DOES_NOT_EXIST")


async def test_without_a_token_nothing_is_said(anyone: httpx.AsyncClient) -> None:
    answer = await call(anyone, "runs/search", {})
    assert (answer.status_code, answer.json()["error_code"]) == (401, "UNAUTHENTICATED")


async def test_a_reader_logs_nothing(anyone: httpx.AsyncClient, database: Database) -> None:
    headers = bearer(await make_token(database, Scope.READ))
    answer = await call(anyone, "experiments/create", {"name": "x"}, headers=headers)
    assert (answer.status_code, answer.json()["error_code"]) == (403, "PERMISSION_DENIED")


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("", ""),
        ("metrics.acc > 0.9", 'metric("acc").last > 0.9'),
        ("metrics.`eval/a b` <= 1 and params.lr = '0.1'",
         'metric("eval/a b").last <= 1 and config("lr") = 0.1'),
        ("params.model = 'a and b'", 'config("model") = "a and b"'),
        ("attributes.status = 'FAILED'", "status in (failed, lost)"),
        ("tags.mlflow.runName LIKE '%seed%'", 'name ~ "seed"'),
    ],
)  # fmt: skip
def test_their_filters_in_our_language(theirs: str, ours: str) -> None:
    assert filter_of(theirs) == ours


def test_their_orders() -> None:
    assert order_of([]) == "-created_at"
    assert order_of(["metrics.`m 1` DESC", "x"]) == "-metric:m 1:last"
    assert order_of(["attributes.start_time ASC"]) == "created_at"
    assert order_of(["params.lr"]) == "config:lr"


async def test_why_something_is_refused_has_mlflows_word(api: httpx.AsyncClient) -> None:
    made = await call(api, "experiments/create", {"name": "mazes"})
    twice = await call(api, "experiments/create", {"name": "mazes"})
    # Its client then looks for the experiment that another one has just made.
    assert (twice.status_code, twice.json()["error_code"]) == (400, "RESOURCE_ALREADY_EXISTS")
    body = {"experiment_id": made.json()["experiment_id"], "run_name": "a"}
    run = (await call(api, "runs/create", body)).json()["run"]["info"]["run_id"]
    await call(api, "runs/update", {"run_id": run, "status": "FINISHED"})
    await call(api, "runs/delete", {"run_id": run})
    params = {"run_id": run, "params": [{"key": "lr", "value": "1"}]}
    points = {"run_id": run, "metrics": [{"key": "loss", "value": 1, "step": 1, "timestamp": 0}]}
    for body in (params, points):
        late = await call(api, "runs/log-batch", body)
        assert (late.status_code, late.json()["error_code"]) == (400, "INVALID_STATE")
        assert "restore it" in late.json()["message"]


async def test_a_job_pushes_points_to_its_own_run_alone(
    anyone: httpx.AsyncClient, database: Database
) -> None:
    run, headers = await a_job(database, attempt=1)
    other, _ = await a_job(database)
    body = {"step": [1, 2], "loss": [0.5, 0.25]}
    answer = await anyone.post(f"{V1}/runs/{run.slug}/metrics", json=body, headers=headers)
    assert answer.json() == {"accepted": 2}
    for slug in (other.slug, "run-none0000"):
        refused = await anyone.post(f"{V1}/runs/{slug}/metrics", json=body, headers=headers)
        assert problem(refused, 404)["detail"] == f"there is no run {slug}"
    problem(await anyone.get(f"{V1}/runs/{run.slug}/metrics", headers=headers), 404)
    async with database.write() as session:
        [series] = await metrics.list_series(session, run)
        assert (series.tail_attempt, series.count) == (1, 2)
        await session.execute(update(Attempt).values(ended_at=utcnow()))
    late = await anyone.post(f"{V1}/runs/{run.slug}/metrics", json=body, headers=headers)
    problem(late, 401)
