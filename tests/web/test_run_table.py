"""The page of the runs table: its links, columns, groups, views and file."""

import csv
import io
import re

import httpx
import pytest

from app.db import Database
from app.metrics.columns import Columns
from app.metrics.ingest import ingest_columns
from app.projects import service as projects
from app.runs import service as runs
from tests.factories import ADA
from tests.queries import QueryCounter
from tests.web.html import parse


@pytest.fixture
async def filled(sqlite_database: Database) -> Database:
    async with sqlite_database.write() as session:
        home = await projects.ensure_default(session)
        for n in range(3):
            run = await runs.create_external(
                session,
                project=home,
                name="=HYPERLINK(1)" if n == 2 else f"run {n}",
                actor=ADA,
                experiment="one",
                config={"seed": n, "<b>": "<i>"},
            )
            points = Columns.of([(1, n + 0.123456789, 0.0)])
            await ingest_columns(session, run.id, 1, {"loss": points})
    return sqlite_database


def names(text: str) -> list[str]:
    return re.findall(r'<tr id="run-.*?<a href="/runs/[^"]+"[^>]*>([^<]+)</a>', text, re.DOTALL)


async def test_a_column_is_shown_sorted_by_and_taken_away(
    client: httpx.AsyncClient, filled: Database
) -> None:
    picker = parse((await client.get("/runs/columns?words=LOSS&sort=name")).text)
    table = await client.get(picker.one("link", "Show loss last").attributes["href"])
    page = parse(table.text)
    assert "0.12346" in page.text
    down = await client.get(page.all("link", "loss · last")[0].attributes["href"])
    assert names(down.text) == ["=HYPERLINK(1)", "run 1", "run 0"]
    assert 'aria-sort="descending"' in down.text
    up = await client.get(parse(down.text).all("link", "loss · last")[0].attributes["href"])
    assert names(up.text) == ["run 0", "run 1", "=HYPERLINK(1)"]
    gone = parse(up.text).one("link", "Take loss · last away").attributes["href"]
    assert "column" not in gone


async def test_a_filter_narrows_and_a_wrong_one_is_kept(
    client: httpx.AsyncClient, filled: Database
) -> None:
    good = await client.get("/runs", params={"filter": 'config("seed") >= 1'})
    assert names(good.text) == ["=HYPERLINK(1)", "run 1"]
    bad = await client.get("/runs", params={"filter": 'sed = "<b>"'})
    assert bad.status_code == 422
    page = parse(bad.text)
    assert page.by_id("filter").attributes["value"] == 'sed = "<b>"'
    assert page.by_id("filter").attributes["aria-invalid"] == "true"
    assert "character 1" in page.by_id("filter-problem").text


async def test_groups_lead_to_their_runs(client: httpx.AsyncClient, filled: Database) -> None:
    path = "/runs?group=config:seed&column=metric:loss:best"
    page = parse((await client.get(path)).text)
    link = page.one("link", "2")
    assert names((await client.get(link.attributes["href"])).text) == ["=HYPERLINK(1)"]


async def test_a_view_is_saved_opened_and_deleted(
    client: httpx.AsyncClient, filled: Database
) -> None:
    query = "filter=name+%7E+run&column=metric%3Aloss%3Abest&evil=1"
    saved = await client.post("/runs/views", data={"name": "mine", "query": query})
    assert saved.status_code == 303
    assert "evil" not in saved.headers["location"]
    page = parse((await client.get("/runs")).text)
    shown = await client.get(page.one("link", "mine").attributes["href"])
    assert names(shown.text) == ["run 1", "run 0"]
    action = re.search(r'action="(/runs/views/[^"]+/delete)"', shown.text)
    assert action is not None
    assert (await client.post(action[1])).status_code == 303
    assert (await client.post(action[1])).status_code == 404
    assert not parse((await client.get("/runs")).text).all("link", "mine")


async def test_the_file_has_all_digits_and_no_formulas(
    client: httpx.AsyncClient, filled: Database
) -> None:
    path = "/runs.csv?column=metric:loss:last&column=config:seed&sort=name"
    answer = await client.get(path)
    assert answer.headers["content-type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert [row["name"] for row in rows] == ["'=HYPERLINK(1)", "run 0", "run 1"]
    assert [row["metric:loss:last"] for row in rows] == [
        "2.123456789",
        "0.123456789",
        "1.123456789",
    ]
    assert (await client.get("/runs.csv?filter=x")).status_code == 422


async def test_lists_are_packed_for_who_takes_it(
    client: httpx.AsyncClient, filled: Database
) -> None:
    packed = await client.get("/runs", headers={"Accept-Encoding": "gzip"})
    plain = await client.get("/runs", headers={"Accept-Encoding": "identity"})
    assert packed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert names(packed.text) == names(plain.text)
    assert "Accept-Encoding" in plain.headers["vary"]


@pytest.mark.parametrize(
    ("query", "most"),
    [
        ({}, 5),
        ({"sort": "-metric:loss:best"}, 6),
        ({"filter": 'config("seed") >= 0'}, 6),
        # A short table has numbers, texts and runs without a value all on one page.
        ({"sort": "config:seed"}, 7),
    ],
    ids=["newest", "by-metric", "filtered", "by-config"],
)
async def test_the_table_asks_few_queries(
    client: httpx.AsyncClient,
    filled: Database,
    count_queries: QueryCounter,
    query: dict[str, str],
    most: int,
) -> None:
    headers = {"HX-Request": "true", "HX-Request-Type": "partial"}
    first = await client.get("/runs", params=query, headers=headers)
    with count_queries(filled) as counted:
        again = await client.get("/runs", params=query, headers=headers)
    assert sorted(names(first.text)) == sorted(names(again.text)) != []
    # The numbers of keys are known by now.
    assert counted.count <= most


async def test_rows_that_are_kept_follow_what_changes(
    client: httpx.AsyncClient, filled: Database
) -> None:
    before = await client.get("/runs")
    assert "Renamed" not in before.text
    async with filled.write() as session:
        run = await runs.get(session, re.findall(r'<tr id="(run-[^"]+)"', before.text)[0])
        run.name = "Renamed <b>"
        run.conditions = [{"kind": "stalled", "since": None, "message": "no step"}]
    after = await client.get("/runs")
    assert "Renamed &lt;b&gt;" in after.text
    assert "Stalled" in after.text
