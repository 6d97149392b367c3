"""The pages whose queries matter, on SQLite and on PostgreSQL."""

import httpx
import pytest

from app.db import Database
from app.runs import service as runs
from app.runs.stream_routes import LogFollower, RunFollower
from tests.web.html import Element, parse
from tests.web.seed import add_evaluation, add_log, add_points, add_run


@pytest.fixture
def page_database(database: Database) -> Database:
    return database


@pytest.fixture
async def running(database: Database) -> str:
    return await add_run(database, "lr 2e-3", steps=44, status="running", age=30)


def rows_of(page: Element) -> list[str]:
    return [row.attributes["id"] for row in page.all("row") if "id" in row.attributes]


async def test_the_table_filters_and_finds(
    client: httpx.AsyncClient, database: Database, running: str
) -> None:
    failed = await add_run(database, "100 % off", steps=20, status="failed", age=60)
    for path, slugs in (
        ("/runs", [failed, running]),
        ("/runs?status=failed", [failed]),
        ("/runs?status=active", [running]),
        ("/runs?q=LR+2E", [running]),
        ("/runs?q=%25", [failed]),
        ("/runs?q=maze-GRPO&status=active", [running]),
    ):
        assert rows_of(parse((await client.get(path)).text)) == slugs, path
    experiments = parse((await client.get("/experiments")).text)
    shown = await client.get(experiments.one("link", "maze-grpo").attributes["href"])
    assert rows_of(parse(shown.text)) == [failed, running]


async def test_each_page_of_a_run_answers(client: httpx.AsyncClient, running: str) -> None:
    for path, words in (
        ("", "Running step 44 of 280"),
        ("/chart?key=policy/grad_norm", "Gradient norm"),
        ("/log", "Step 44:"),
        ("/log?q=step+7:", "1 with “step 7:” of"),
        ("/config", "trainer.seed"),
        ("/timeline", "Attempt 1: running"),
    ):
        answer = await client.get(f"/runs/{running}{path}")
        assert answer.status_code == 200, path
        assert words in parse(answer.text).text, path
    points = await client.get("/series", params={"run": running, "key": "timing/step"})
    assert points.json()["series"][0]["step"] != []


async def test_a_run_is_launched_stopped_and_resumed(
    client: httpx.AsyncClient, database: Database
) -> None:
    stopped = await add_run(database, "again", steps=20, status="stopped", age=60)
    answer = await client.post(f"/runs/{stopped}/resume")
    page = parse((await client.get(answer.headers["Location"])).text)
    assert "It goes on from its newest checkpoint." in page.by_id("flash").text
    form = {"recipe": "embedded-maze-grpo", "experiment": "maze-grpo", "name": "new"}
    launched = (await client.post("/runs/new", data=form)).headers["Location"]
    assert "waits for the cluster" in parse((await client.get(launched)).text).text
    await client.post(f"{launched}/stop")
    assert "stopping before it started" in parse((await client.get(launched)).text).text


async def test_a_stream_tells_of_points_evaluations_and_lines(
    database: Database, running: str
) -> None:
    reader = RunFollower(database, running)
    log = LogFollower(database, running, None, 1)
    await reader.look()
    await log.look()
    async with database.write() as session:
        run = await runs.get(session, running)
        await add_points(session, run, 45, 46)
        await add_evaluation(session, run, step=60, solved=60)
        await add_log(session, run, run.attempts[0], b"a new line\n")
    points, evaluation = await reader.look()
    steps = {row["key"]: row["step"] for row in points.data["series"]}
    assert steps["timing/step"] == [45, 46]
    assert evaluation.data["solved"][-1] == 60
    (lines,) = await log.look()
    assert lines.data["lines"][-1]["pieces"] == [("", "a new line")]
