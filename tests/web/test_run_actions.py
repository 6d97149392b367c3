"""Why a run ended, and what can be done about it, without JavaScript."""

import httpx
import pytest

from app.clock import utcnow
from app.db import Database
from app.metrics.columns import Columns
from app.metrics.service import PushPlace, push
from app.models import Event, RunStatus, TrainingEvaluation
from app.runs import service as runs
from app.runs.states import transition
from tests.factories.runs import ADA, make_external_run
from tests.web.html import Element, parse
from tests.web.seed import Seeded, add_points

HINT = "Resume the run: it goes on."
FAILURE = {
    "class": "node_lost",
    "message": "The head restarted",
    "evidence": ["raylet died"],
    "hint": HINT,
}


async def shown(client: httpx.AsyncClient, slug: str, path: str = "") -> Element:
    return parse((await client.get(f"/runs/{slug}{path}")).text)


async def end(database: Database, slug: str, status: RunStatus) -> None:
    async with database.write() as session:
        run = await runs.get(session, slug)
        run.attempts[-1].failure = FAILURE
        session.add(transition(run, status, at=utcnow(), actor="worker", reason="observed"))


@pytest.mark.parametrize("status", [RunStatus.LOST, RunStatus.FAILED, RunStatus.WAITING_RETRY])
async def test_each_failed_attempt_says_why(
    client: httpx.AsyncClient, seeded: Seeded, sqlite_database: Database, status: RunStatus
) -> None:
    await end(sqlite_database, seeded.running, status)
    page = await shown(client, seeded.running)
    title = "Attempt 1: node lost" if status is RunStatus.WAITING_RETRY else "Node lost"
    assert page.by_id("failure").text == title
    assert "The head restarted" in page.text
    assert "raylet died" in page.text


async def test_a_lost_run_resumes_and_a_finished_one_does_not(
    client: httpx.AsyncClient, seeded: Seeded, sqlite_database: Database
) -> None:
    await end(sqlite_database, seeded.running, RunStatus.LOST)
    lost = await shown(client, seeded.running)
    assert lost.one("button", "Resume run")
    assert HINT in lost.text
    answer = await client.post(f"/runs/{seeded.running}/resume")
    page = parse((await client.get(answer.headers["Location"])).text)
    assert "Queued again." in page.by_id("flash").text
    assert "The head restarted" in page.text
    assert HINT not in page.text, "what it asks for was just done"
    assert "Queued" in page.text
    assert not (await shown(client, seeded.succeeded)).all("button", "Resume run")
    refused = await client.post(f"/runs/{seeded.succeeded}/resume")
    assert refused.status_code == 409
    assert "only a failed, stopped or lost run resumes" in parse(refused.text).text


async def test_a_run_is_deleted_after_a_question_and_restored(
    client: httpx.AsyncClient, seeded: Seeded
) -> None:
    ask = await shown(client, seeded.failed, "/delete")
    assert ask.one("heading", "Delete lr 5e-3?")
    await client.post(f"/runs/{seeded.failed}/delete")
    page = await shown(client, seeded.failed)
    assert "This run is deleted." in page.text
    assert not page.all("button", "Resume run")
    assert seeded.failed not in (await client.get("/runs")).text
    assert (await client.get(f"/runs/{seeded.failed}/delete")).status_code == 409
    await client.post(f"/runs/{seeded.failed}/restore")
    assert seeded.failed in (await client.get("/runs")).text


async def test_a_run_under_way_is_not_deleted(client: httpx.AsyncClient, seeded: Seeded) -> None:
    assert not (await shown(client, seeded.running)).all("link", "Delete")
    assert (await client.post(f"/runs/{seeded.running}/delete")).status_code == 409


async def test_the_timeline_begins_with_the_newest_and_goes_back_to_the_first(
    client: httpx.AsyncClient, seeded: Seeded, sqlite_database: Database
) -> None:
    async with sqlite_database.write() as session:
        run = await runs.get(session, seeded.running)
        for number in range(230):
            session.add(
                Event(run_id=run.id, at=utcnow(), actor="w", kind="note", message=f"note {number}.")
            )
            await session.flush()
    page = await shown(client, seeded.running, "/timeline")
    assert "note 229." in page.text
    assert "note 100." not in page.text
    seen = page.text
    while following := page.all("link", "Older events"):
        page = parse((await client.get(following[0].attributes["href"])).text)
        seen += page.text
    assert all(f"note {number}." in seen for number in range(230))
    assert "Created" in page.text


async def test_a_maze_that_cannot_be_drawn_is_still_counted(
    client: httpx.AsyncClient, seeded: Seeded, sqlite_database: Database
) -> None:
    items = [{"seed": None, "solved": True}, {"seed": 3, "solved": False, "turns": 4}, {"seed": -1}]
    async with sqlite_database.write() as session:
        run = await runs.get(session, seeded.queued)
        session.add(
            TrainingEvaluation(
                run_id=run.id,
                attempt_number=1,
                step=0,
                env_id="somebody/else",
                n=3,
                solved_count=1,
                passed_count=1,
                items=items,
                path="p",
                created_at=utcnow(),
            )
        )
    page = await shown(client, seeded.queued)
    names = [e.attributes["aria-label"] for e in page.walk() if e.attributes.get("role") == "img"]
    assert "Maze without a seed: solved" in names
    assert "Maze 3: not solved in 4 turns" in names


async def test_without_dumps_the_hero_is_pass_at_1_under_its_own_name(
    client: httpx.AsyncClient, sqlite_database: Database
) -> None:
    async with sqlite_database.write() as session:
        run = await make_external_run(session, name="by hand")
        await push(
            session,
            PushPlace(run.id, run.slug, run.project_id, 1),
            {"eval/all/pass_at_1": Columns.of([(0, 0.5, 0.0)])},
            actor=ADA,
        )
    page = await shown(client, run.slug)
    assert page.by_id("hero-title").text == "pass_at_1"
    assert "It is not the solve rate" in page.text
    drawn = [e.attributes["data-key"] for e in page.walk() if "data-panel" in e.attributes]
    assert drawn == ["eval/all/pass_at_1"]


async def test_with_a_solve_rate_pass_at_1_is_a_chart_like_others(
    client: httpx.AsyncClient, seeded: Seeded, sqlite_database: Database
) -> None:
    async with sqlite_database.write() as session:
        await add_points(session, await runs.get(session, seeded.queued), 1, 20)
    assert (await shown(client, seeded.running)).by_id("hero-title").text == "Solve rate"
    part = await client.get(f"/runs/{seeded.running}/charts")
    assert "eval/all/pass_at_1" in part.text


async def test_a_search_of_the_log_leads_to_the_line_in_its_place(
    client: httpx.AsyncClient, seeded: Seeded
) -> None:
    page = await shown(client, seeded.running, "/log?q=STEP+84:")
    assert "1 with “STEP 84:” of 1,097 lines" in page.text
    link = page.by_id("L1085").one("link")
    assert link.attributes["href"].endswith("from=1065#L1085")
    assert 'data-log=""' in (await client.get(f"/runs/{seeded.running}/log?q=step")).text
    place = parse((await client.get(link.attributes["href"])).text)
    assert place.by_id("L1085")
    nothing = await shown(client, seeded.running, "/log?q=%3Cb%3E")
    assert "No line holds “<b>”." in nothing.text


async def test_the_log_is_followed_from_the_line_that_may_grow(
    client: httpx.AsyncClient, seeded: Seeded
) -> None:
    page = await shown(client, seeded.running, "/log")
    (section,) = [e for e in page.walk() if "data-log" in e.attributes]
    assert section.attributes["data-log"].endswith("from=1097")


@pytest.mark.parametrize(
    "path",
    [
        "/log?attempt=99999999999",
        "/log?from=99999999999999999999",
        "/log.txt?attempt=99999999999",
        "/log/stream?from=99999999999999999999",
        "/timeline?cursor=nonsense",
    ],
)
async def test_what_no_database_holds_is_refused(
    client: httpx.AsyncClient, seeded: Seeded, path: str
) -> None:
    assert (await client.get(f"/runs/{seeded.running}{path}")).status_code == 422
