"""The pages of checkpoints, promotions and adapters, without JavaScript."""

from dataclasses import dataclass
from datetime import timedelta

import httpx
import pytest

from app.checkpoints import service as checkpoints
from app.clock import utcnow
from app.db import Database
from app.models import CheckpointKind, PromotionStatus, RunStatus
from app.runs import service as runs
from tests.adapters.conftest import evaluation
from tests.evaluations.factories import add_endpoint
from tests.factories import make_checkpoint, make_promotion, make_run
from tests.queries import QueryCounter
from tests.web.html import parse


@dataclass(frozen=True, slots=True)
class Made:
    run: str
    checkpoint: str


@pytest.fixture
async def made(client: httpx.AsyncClient, page_database: Database) -> Made:
    async with page_database.write() as session:
        run = await make_run(session, name="rank 4")
        for step in (20, 40):
            session.add(evaluation(run, step, solved=step // 10))
        await make_checkpoint(session, run, 40, kind=CheckpointKind.STATE)
        await make_checkpoint(session, run, 40, problem="<b>broken</b>")
        found = await make_checkpoint(session, run, 20)
        return Made(run.slug, found.slug)


async def test_the_tab_says_what_did_best_and_what_can_be_promoted(
    client: httpx.AsyncClient, made: Made
) -> None:
    answer = await client.get(f"/runs/{made.run}/checkpoints")
    page = parse(answer.text)
    assert "Best solve rate: 50.0 % at step 40. Of the adapters" in page.text
    assert "step 20 did best" in page.text
    assert "<b>broken" not in answer.text
    links = [each.attributes["href"] for each in page.all("link") if "Promote" in each.text]
    assert links == [f"/checkpoints/{made.checkpoint}/promote"]


async def test_a_run_that_saved_nothing_says_so(
    client: httpx.AsyncClient, page_database: Database
) -> None:
    async with page_database.write() as session:
        run = await make_run(session)
    answer = await client.get(f"/runs/{run.slug}/checkpoints")
    assert "Nothing saved yet" in parse(answer.text).text


async def test_a_step_is_promoted_from_the_form(client: httpx.AsyncClient, made: Made) -> None:
    url = f"/checkpoints/{made.checkpoint}/promote"
    form = parse((await client.get(url)).text)
    name = form.labelled("Name of the adapter").attributes["value"]
    assert name == f"{made.run}-s20"
    assert f"As the model maze-base:{name}" in form.text
    answer = await client.post(url, data={"adapter_name": name})
    assert answer.status_code == 303
    page = parse((await client.get(answer.headers["location"])).text)
    assert "Waits for a worker" in page.text
    listed = parse((await client.get("/adapters")).text)
    assert name in listed.text
    assert "Promoting" in listed.text


async def test_a_refused_name_is_kept_with_what_is_free(
    client: httpx.AsyncClient, page_database: Database, made: Made
) -> None:
    url = f"/checkpoints/{made.checkpoint}/promote"
    async with page_database.write() as session:
        await make_promotion(session, await runs.get(session, made.run), 60, name="mine")
    for name, said in (("mine", "The name mine is in use"), ("<script>", "An adapter's name has")):
        answer = await client.post(url, data={"adapter_name": name})
        assert answer.status_code == 422
        page = parse(answer.text)
        field = page.labelled("Name of the adapter")
        assert (field.attributes["value"], field.attributes["aria-invalid"]) == (name, "true")
        assert said in page.text
        assert "Nothing was made: the name cannot be used." in page.one("alert").text
        assert "As the model" not in page.text
        assert ("Free is mine-2" in page.text) is (name == "mine")


async def test_what_cannot_be_promoted_is_said_on_the_form(
    client: httpx.AsyncClient, page_database: Database, made: Made
) -> None:
    async with page_database.read() as session:
        run = await runs.get(session, made.run)
        shown = await checkpoints.list_page(session, run)
    state = next(each.row.slug for each in shown.items if each.row.kind is CheckpointKind.STATE)
    answer = await client.post(f"/checkpoints/{state}/promote", data={"adapter_name": "x"})
    assert answer.status_code == 422
    assert "Nothing was made." in answer.text
    assert "whole training state" in answer.text


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (PromotionStatus.SUCCEEDED, "Promoted: complete"),
        (PromotionStatus.FAILED, "promote another step"),
        (PromotionStatus.RUNNING, "Being checked"),
    ],
)
async def test_a_promotion_says_where_it_stands(
    client: httpx.AsyncClient,
    page_database: Database,
    made: Made,
    status: PromotionStatus,
    said: str,
) -> None:
    async with page_database.write() as session:
        run = await runs.get(session, made.run)
        promotion = await make_promotion(session, run, 60, status=status)
    page = parse((await client.get(f"/promotions/{promotion.slug}")).text)
    assert said.lower() in page.text.lower()
    headers = {"HX-Request": "true", "HX-Request-Type": "partial"}
    part = await client.get(f"/promotions/{promotion.slug}", headers=headers)
    assert "<html" not in part.text
    assert ("hx-get" in part.text) is (status is not PromotionStatus.FAILED), "it asks for ever"


async def test_a_promoted_adapter_is_played_once_its_endpoint_names_it(
    client: httpx.AsyncClient, page_database: Database, made: Made
) -> None:
    async with page_database.write() as session:
        run = await runs.get(session, made.run)
        promotion = await make_promotion(session, run, 60, name="mine")
    url = f"/promotions/{promotion.slug}"
    page = parse((await client.get(url)).text)
    assert "does not name it yet" in page.text
    assert [each for each in page.all("link") if "Play base" in each.text] == []
    assert page.by_id("promotion").attributes["hx-get"] == url
    async with page_database.write() as session:
        await add_endpoint(session, "maze-base", "maze-base:mine", slug="embedded")
    page = parse((await client.get(url)).text)
    assert "served by name" in page.text
    assert "hx-get" not in page.by_id("promotion").attributes
    part = await client.get(url, headers={"HX-Request": "true", "HX-Request-Type": "partial"})
    assert "hx-get" not in part.text
    evaluation = page.one("link", "Evaluate").attributes["href"]
    ticked = [
        each.attributes["value"]
        for each in parse((await client.get(evaluation)).text).walk()
        if each.tag == "input" and "checked" in each.attributes
    ]
    assert ticked == ["embedded maze-base", "embedded maze-base:mine"]
    link = page.one("link", "Play base and adapter side by side").attributes["href"]
    form = parse((await client.get(link)).text)
    chosen = [
        each for each in form.walk() if each.tag == "option" and "selected" in each.attributes
    ]
    assert [each.text for each in chosen][:2] == ["maze-base", "maze-base:mine"]


async def test_a_run_that_has_ended_leads_to_its_best_adapter_until_one_is_promoted(
    client: httpx.AsyncClient, page_database: Database, made: Made
) -> None:
    assert "Promote step" not in (await client.get(f"/runs/{made.run}")).text
    async with page_database.write() as session:
        run = await runs.get(session, made.run)
        run.status = RunStatus.SUCCEEDED
    page = parse((await client.get(f"/runs/{made.run}")).text)
    link = page.one("link", "Promote step 20").attributes["href"]
    assert link == f"/checkpoints/{made.checkpoint}/promote"
    await client.post(link, data={"adapter_name": "mine"})
    assert "Promote step" not in (await client.get(f"/runs/{made.run}/log")).text


@pytest.mark.parametrize(("age_seconds", "is_awaited"), [(5, True), (90, False)])
async def test_what_a_run_saved_last_is_awaited_for_a_while_after_its_end(
    client: httpx.AsyncClient, page_database: Database, age_seconds: int, is_awaited: bool
) -> None:
    async with page_database.write() as session:
        run = await make_run(session, name="rank 8")
        run.status = RunStatus.SUCCEEDED
        run.ended_at = utcnow() - timedelta(seconds=age_seconds)
    head = parse((await client.get(f"/runs/{run.slug}/status?figures=true")).text)
    asked = [each.attributes["hx-get"] for each in head.walk() if "hx-get" in each.attributes]
    assert asked == [f"/runs/{run.slug}/status?figures=true"] * is_awaited


async def test_an_adapter_is_deleted_after_a_question(
    client: httpx.AsyncClient, page_database: Database, made: Made
) -> None:
    async with page_database.write() as session:
        run = await runs.get(session, made.run)
        adapter = (await make_promotion(session, run, 60, name="mine")).adapter
    page = parse((await client.get(f"/adapters/{adapter.slug}")).text)
    assert "maze-base:mine" in page.text
    asked = parse((await client.get(f"/adapters/{adapter.slug}/delete")).text)
    assert "never used again" in asked.text
    assert "requests for that model fail" in asked.text
    answer = await client.post(f"/adapters/{adapter.slug}/delete")
    assert (answer.status_code, answer.headers["location"]) == (303, "/adapters")
    assert "mine" not in parse((await client.get("/adapters")).text).one("main").text


async def test_more_checkpoints_ask_no_more_of_the_database(
    client: httpx.AsyncClient,
    page_database: Database,
    made: Made,
    count_queries: QueryCounter,
) -> None:
    url = f"/runs/{made.run}/checkpoints"
    await client.get(url)
    with count_queries(page_database) as few:
        await client.get(url)
    async with page_database.write() as session:
        run = await runs.get(session, made.run)
        for step in range(60, 160, 20):
            await make_promotion(session, run, step)
    with count_queries(page_database) as many:
        await client.get(url)
    assert len(many.statements) == len(few.statements)
