import json
import re
from datetime import timedelta

import httpx
import pytest

from app.clock import utcnow
from app.clusters import service as clusters
from app.db import Database
from app.metrics.ingest import MetricPoint, ingest
from app.models import ClusterStatus
from app.runs import service as runs
from app.web.htmx import VARY
from tests.factories.runs import ADA, make_external_run, make_run
from tests.queries import QueryCounter
from tests.web.html import Element, parse
from tests.web.seed import HOSTILE, Seeded, add_evaluation, add_log, add_run

FRAGMENT = {"HX-Request": "true", "HX-Request-Type": "partial"}


def row_of(page: Element, slug: str) -> Element:
    return page.by_id(slug)


async def test_before_the_first_run_the_start_page_says_what_to_do(
    client: httpx.AsyncClient,
) -> None:
    page = parse((await client.get("/")).text)
    assert page.one("heading", "Launch your first run")
    assert page.one("link", "New run").attributes["href"] == "/runs/new"
    assert "No cluster yet" in page.text


async def test_the_table_says_status_rate_step_and_why(
    client: httpx.AsyncClient, seeded: Seeded
) -> None:
    page = parse((await client.get("/runs")).text)
    assert re.search(
        r"Running .*53/64 · 82.8 % \[72–90\] 84 /280", row_of(page, seeded.running).text
    )
    assert "waits, position 2" in row_of(page, seeded.queued).text
    assert "The trainer ran out of memory at step 31" in row_of(page, seeded.failed).text
    link = row_of(page, seeded.running).one("link")
    assert link.attributes["href"] == f"/runs/{seeded.running}"


async def test_a_hostile_name_is_text_on_every_page(
    client: httpx.AsyncClient, seeded: Seeded
) -> None:
    table = (await client.get("/runs")).text
    assert HOSTILE not in table
    link = parse(table).one("link", HOSTILE)
    run = (await client.get(link.attributes["href"])).text
    assert HOSTILE not in run
    assert parse(run).one("heading", HOSTILE)


async def test_filters_are_links_and_keep_the_words(
    client: httpx.AsyncClient, seeded: Seeded
) -> None:
    page = parse((await client.get("/runs?q=RANK+32")).text)
    assert len(page.all("row")) == 1 + 3
    chip = page.one("link", "Active")
    active = parse((await client.get(chip.attributes["href"])).text)
    assert {r.attributes["id"] for r in active.all("row") if "id" in r.attributes} == {
        seeded.running,
        seeded.queued,
    }
    nothing = parse((await client.get("/runs?q=%25")).text)
    assert "No run fits this filter." in nothing.text


async def test_the_table_alone_answers_htmx_and_caches_keep_them_apart(
    client: httpx.AsyncClient, seeded: Seeded
) -> None:
    part = await client.get("/runs", headers=FRAGMENT)
    assert "<html" not in part.text
    assert row_of(parse(part.text), seeded.running)
    assert part.headers["Vary"] == f"{VARY}, Accept-Encoding"
    boosted = await client.get("/runs", headers={"HX-Request": "true", "HX-Request-Type": "full"})
    assert "<html" in boosted.text
    assert boosted.headers["Vary"] == f"{VARY}, Accept-Encoding"


async def test_long_lists_go_on_without_javascript(
    client: httpx.AsyncClient, sqlite_database: Database
) -> None:
    async with sqlite_database.write() as session:
        first = await make_run(session, name="run 0")
        for number in range(1, 60):
            await runs.create(session, first.experiment, actor=ADA, name=f"run {number}")
    seen: list[str] = []
    path = "/runs"
    while path:
        page = parse((await client.get(path)).text)
        seen += [row.attributes["id"] for row in page.all("row") if "id" in row.attributes]
        following = page.all("link", "Older runs")
        path = following[0].attributes["href"] if following else ""
    assert len(seen) == len(set(seen)) == 60
    assert seen[-1] == first.slug


async def test_more_rows_ask_no_more_queries(
    client: httpx.AsyncClient, sqlite_database: Database, count_queries: QueryCounter
) -> None:
    await add_run(sqlite_database, "one", steps=20, status="running", age=9)
    with count_queries(sqlite_database) as few:
        await client.get("/runs")
    for number in range(8):
        await add_run(sqlite_database, f"more {number}", steps=20, status="running", age=9)
    with count_queries(sqlite_database) as many:
        page = parse((await client.get("/runs")).text)
    assert len(page.all("row")) == 1 + 9
    assert many.count == few.count


async def test_a_run_shows_its_line_figures_mazes_and_charts(
    client: httpx.AsyncClient, seeded: Seeded
) -> None:
    page = parse((await client.get(f"/runs/{seeded.running}")).text)
    assert "Running step 84 of 280 · 0.31 s a step · ends about" in page.text
    assert "Best solve rate 53/64 82.8 % [72–90]" in page.text
    mazes = [
        e for e in page.walk() if e.tag == "svg" and "Maze" in e.attributes.get("aria-label", "")
    ]
    assert len(mazes) == 64
    assert sum("not solved in 15 turns" in maze.attributes["aria-label"] for maze in mazes) == 11
    assert (
        page.one("link", "Entropy")
        .attributes["href"]
        .endswith("/chart?key=policy%2Fpolicy_entropy")
    )
    hero = json.loads(str(page.by_id("hero-data").children[0]))
    assert hero["step"] == [0, 20, 40, 60, 80]
    assert hero["solved"][-1] == 53
    assert hero["low"][-1] < 53 / 64 < hero["high"][-1]


async def test_a_failed_run_says_why_with_evidence_and_a_hint(
    client: httpx.AsyncClient, seeded: Seeded
) -> None:
    page = parse((await client.get(f"/runs/{seeded.failed}")).text)
    assert "torch.OutOfMemoryError: tried to allocate 2.00 GiB <b>" in page.text
    assert "Take a smaller batch" in page.text
    assert not page.all("link", "Stop run")


async def test_pages_answer_while_the_cluster_starts_and_say_so(
    client: httpx.AsyncClient, sqlite_database: Database
) -> None:
    async with sqlite_database.write() as session:
        run = await make_run(session)
        cluster = await clusters.ensure_embedded(session)
        cluster.message = "Ray is starting: 12 s"
    for path in ("/runs", f"/runs/{run.slug}", "/clusters", "/runs/new"):
        answer = await client.get(path)
        assert answer.status_code == 200
        assert "Ray is starting: 12 s" in parse(answer.text).text, path
    assert "waits for the cluster to start" in (await client.get("/runs")).text


async def test_an_unreachable_cluster_shows_what_was_known(
    client: httpx.AsyncClient, seeded: Seeded, sqlite_database: Database
) -> None:
    async with sqlite_database.write() as session:
        cluster = await clusters.ensure_embedded(session)
        cluster.status = ClusterStatus.UNREACHABLE
        cluster.message = "no answer within 5 s"
    page = parse((await client.get(f"/runs/{seeded.running}")).text)
    assert "Embedded is unreachable." in page.text
    assert "last known state" in page.text
    assert "Running step 84 of 280" in page.text


async def test_a_run_fed_from_outside_has_the_same_pages(
    client: httpx.AsyncClient, sqlite_database: Database
) -> None:
    async with sqlite_database.write() as session:
        run = await make_external_run(session, name="by hand")
    for tab in ("", "/log", "/config", "/timeline"):
        answer = await client.get(f"/runs/{run.slug}{tab}")
        assert answer.status_code == 200, tab
        assert not parse(answer.text).all("link", "Stop run")


async def test_a_run_fed_from_outside_stands_where_its_points_do(
    client: httpx.AsyncClient, sqlite_database: Database
) -> None:
    async with sqlite_database.write() as session:
        run = await make_external_run(session)
    assert "mazes" not in (await client.get(f"/runs/{run.slug}")).text
    async with sqlite_database.write() as session:
        points = [MetricPoint(key, step, 1.0, 0.0) for key, step in (("a", 3), ("b", 1_204))]
        await ingest(session, run.id, 1, points)
    for path in ("", "/status?figures=true"):
        page = parse((await client.get(f"/runs/{run.slug}{path}")).text)
        assert "Running step 1,204" in page.text
        assert "Step 1,204" in page.text
    async with sqlite_database.write() as session:
        await add_evaluation(session, run, step=20, solved=9)
    assert "Evaluation at step 20" in parse((await client.get(f"/runs/{run.slug}")).text).text


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("unreachable", "Cluster does not answer"),
        ("not_submitted", "Not submitted yet"),
        ("log_lost", "Log lost"),
    ],
)
async def test_each_condition_is_said_in_words_with_its_reason(
    client: httpx.AsyncClient, seeded: Seeded, sqlite_database: Database, kind: str, words: str
) -> None:
    since = (utcnow() - timedelta(minutes=4)).isoformat()
    async with sqlite_database.write() as session:
        run = await runs.get(session, seeded.running)
        run.conditions = [{"kind": kind, "since": since, "message": "because of the disk"}]
    table = parse((await client.get("/runs")).text)
    assert f"{words} · 4 min ago" in row_of(table, seeded.running).text
    page = parse((await client.get(f"/runs/{seeded.running}")).text)
    assert f"{words} · 4 min ago Because of the disk." in page.text


async def test_stopping_asks_once_then_writes_the_wish(
    client: httpx.AsyncClient, seeded: Seeded
) -> None:
    ask = parse((await client.get(f"/runs/{seeded.running}/stop")).text)
    assert ask.one("heading", "Stop rank 32, seed 2?")
    form = next(e for e in ask.walk() if e.attributes.get("action", "").endswith("/stop"))
    assert form.attributes["method"] == "post"
    answer = await client.post(form.attributes["action"])
    assert answer.status_code == 303
    page = parse((await client.get(answer.headers["Location"])).text)
    assert "Stopping: it saves a checkpoint first · at step 84 of 280" in page.text
    assert "The run saves a checkpoint first." in page.by_id("flash").text
    timeline = parse((await client.get(f"/runs/{seeded.running}/timeline")).text)
    assert "Stop asked for by admin" in timeline.text


async def test_an_ended_run_cannot_be_stopped(client: httpx.AsyncClient, seeded: Seeded) -> None:
    assert (await client.get(f"/runs/{seeded.succeeded}/stop")).status_code == 409
    assert (await client.post(f"/runs/{seeded.succeeded}/stop")).status_code == 409


async def test_the_log_opens_at_its_end_and_goes_back(
    client: httpx.AsyncClient, seeded: Seeded
) -> None:
    page = parse((await client.get(f"/runs/{seeded.running}/log")).text)
    assert page.by_id("L1097").text == "1097 (maze_grpo pid=4711) 'timing/policy_train': '0.2113'}"
    assert "step" in page.by_id("L1085").attributes["class"].split()
    older = parse((await client.get(page.one("link", "Older").attributes["href"])).text)
    assert older.by_id("L697")
    first = parse((await client.get(f"/runs/{seeded.running}/log?from=1")).text)
    assert first.by_id("L5").text == "5 Evaluation Progress: 100%|##########| 64/64"
    assert first.one("link", "Newer")


async def test_log_lines_are_escaped_and_coloured(
    client: httpx.AsyncClient, seeded: Seeded
) -> None:
    answer = await client.get(f"/runs/{seeded.running}/log?from=1")
    assert HOSTILE not in answer.text
    page = parse(answer.text)
    assert HOSTILE in page.by_id("L4").text
    coloured = [e for e in page.by_id("L3").walk() if e.tag == "span"]
    assert coloured[0].attributes["class"] == "ansi-yellow"


async def test_the_log_can_be_had_as_it_was_written(
    client: httpx.AsyncClient, seeded: Seeded, sqlite_database: Database
) -> None:
    tail = b"\xff\x1b[31mred\r\n"
    async with sqlite_database.write() as session:
        run = await runs.get(session, seeded.running)
        await add_log(session, run, run.attempts[0], tail)
    answer = await client.get(f"/runs/{seeded.running}/log.txt")
    assert answer.content.endswith(tail)
    assert answer.headers["Content-Disposition"] == f'attachment; filename="{seeded.running}.log"'


async def test_the_config_marks_what_differs_from_the_recipe(
    client: httpx.AsyncClient, sqlite_database: Database
) -> None:
    async with sqlite_database.write() as session:
        experiment = (await make_run(session)).experiment
        run = await runs.create(
            session,
            experiment,
            actor=ADA,
            overrides={"trainer.seed": 7, "generator.max_turns": 15},
        )
    page = parse((await client.get(f"/runs/{run.slug}/config")).text)
    rows = [row.text for row in page.all("row", "trainer.seed")]
    assert rows == ["trainer.seed 0 7", "Seed trainer.seed 7 changed 0"]
    assert "changed" not in page.one("row", "generator.max_turns").text
    assert "trainer.seed=7" in page.text
    assert page.one("heading", "Other than the recipe")


async def test_a_chart_has_a_page_with_the_table_of_its_numbers(
    client: httpx.AsyncClient, seeded: Seeded
) -> None:
    page = parse((await client.get(f"/runs/{seeded.running}/chart?key=policy/grad_norm")).text)
    assert page.one("heading", "Gradient norm")
    assert [row.text for row in page.all("row") if row.text.startswith("40 ")] == ["40 NaN"]
    assert (await client.get(f"/runs/{seeded.running}/chart?key=no/such")).status_code == 404


@pytest.mark.parametrize(
    "key", [".", "..", "../../etc/passwd", "a/../b", "%2e", "a//b", "<script>&=#?", "é" * 500]
)
async def test_each_legal_key_has_its_name_and_its_page(
    client: httpx.AsyncClient, sqlite_database: Database, key: str
) -> None:
    async with sqlite_database.write() as session:
        run = await make_external_run(session)
        await ingest(session, run.id, 1, [MetricPoint(key, 7, 0.5, 0.0)])
    link = parse((await client.get(f"/runs/{run.slug}")).text).one("link", key)
    assert link.text == link.attributes["title"] == key
    page = parse((await client.get(link.attributes["href"])).text)
    assert page.one("heading", key)
    assert page.all("row", "7 0.5000")


async def test_too_many_words_are_cut_and_searched_for(
    client: httpx.AsyncClient, seeded: Seeded
) -> None:
    for path, label in (("/runs", "Find by name, experiment or id"), ("log", "Search this log")):
        url = path if path == "/runs" else f"/runs/{seeded.running}/{path}"
        answer = await client.get(url, params={"q": "x" * 300})
        assert answer.status_code == 200
        box = parse(answer.text).labelled(label)
        assert box.attributes["value"] == "x" * int(box.attributes["maxlength"])


async def test_the_live_part_of_other_tabs_has_no_figures(
    client: httpx.AsyncClient, seeded: Seeded
) -> None:
    part = await client.get(f"/runs/{seeded.running}/status")
    assert "Running step 84" in part.text
    assert "Best solve rate" not in part.text
    whole = await client.get(f"/runs/{seeded.running}/status?figures=true")
    assert "Best solve rate" in whole.text
