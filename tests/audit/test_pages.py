"""The pages of the audit log, as an administrator reads them."""

import csv
import io
from datetime import timedelta

import httpx
import pytest

from app.db import Database
from app.models import AuditOutcome
from tests.audit.rows import NOON, add_entry, add_project
from tests.web.html import Element, parse

URL = "/settings/audit"


async def read(client: httpx.AsyncClient, url: str = URL, status: int = 200) -> Element:
    answer = await client.get(url)
    assert answer.status_code == status, answer.text
    return parse(answer.text)


def objects(page: Element) -> list[str]:
    return [row.all("cell")[4].text for row in page.one("table").all("row")[1:]]


@pytest.fixture
async def filled(sqlite_database: Database) -> Database:
    """Four rows: a change, one of somebody else, a denied attempt, one of a project."""
    project_id = await add_project(sqlite_database, "maze")
    async with sqlite_database.write() as session:
        add_entry(session, minute=0, object_slug="run-0", details={"changed": ["name", "tags"]})
        add_entry(session, minute=1, object_slug="run-1", actor="bob", actor_key="user:2")
        add_entry(session, minute=2, object_slug="run-2", outcome=AuditOutcome.DENIED)
        add_entry(session, minute=3, object_slug="run-3", project_id=project_id)
    return sqlite_database


async def test_newest_first_with_exact_times(client: httpx.AsyncClient, filled: Database) -> None:
    page = await read(client, f"{URL}?to=2026-11-29T12:30")
    assert objects(page) == ["run run-3", "run run-2", "run run-1", "run run-0"]
    first = page.one("table").all("row")[-1]
    assert first.all("cell")[0].text == "2026-11-29 12:00:00 UTC"
    assert "changed name, tags" in first.text
    assert "Done" in first.text
    assert "Denied" in page.one("table").all("row")[-3].text


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("actor=bob", ["run run-1"]),
        ("actor=user:2", ["run run-1"]),
        ("outcome=denied", ["run run-2"]),
        ("object=run-0", ["run run-0"]),
        ("project=maze", ["run run-3"]),
        ("action=run.stop&object=run-3", ["run run-3"]),
        ("from=2026-11-29T12:01&to=2026-11-29T12:03", ["run run-2", "run run-1"]),
        ("from=2026-11-29T13:01:00%2B01:00&to=2026-11-29T12:02Z", ["run run-1"]),
    ],
)
async def test_the_address_holds_the_filter(
    client: httpx.AsyncClient, filled: Database, query: str, wanted: list[str]
) -> None:
    page = await read(client, f"{URL}?{query}")
    assert objects(page) == wanted


async def test_a_name_in_the_table_leads_to_its_rows(
    client: httpx.AsyncClient, filled: Database
) -> None:
    page = await read(client)
    narrowed = await read(client, page.one("link", "bob").attributes["href"])
    assert objects(narrowed) == ["run run-1"]
    assert narrowed.labelled("Who").attributes["value"] == "user:2"


async def test_older_rows_are_a_link_away(client: httpx.AsyncClient, filled: Database) -> None:
    async with filled.write() as session:
        for minute in range(150):
            add_entry(session, minute=minute + 10, actor="carol", object_slug=f"run-{minute}")
    page = await read(client, f"{URL}?actor=carol")
    older = await read(client, page.one("link", "Older").attributes["href"])
    shown = objects(page) + objects(older)
    assert shown == [f"run run-{minute}" for minute in reversed(range(150))]
    assert "actor=carol" in older.one("link", "Newest").attributes["href"]


async def test_a_filter_that_cannot_be_read_is_kept_and_explained(
    client: httpx.AsyncClient, filled: Database
) -> None:
    page = await read(client, f"{URL}?from=yesterday&action=run.fly&actor=bob", status=422)
    since = page.labelled("From (UTC)")
    assert since.attributes["value"] == "yesterday"
    assert since.attributes["aria-invalid"] == "true"
    assert "2026-11-29T16:20" in page.by_id(since.attributes["aria-describedby"]).text
    assert page.labelled("Who").attributes["value"] == "bob"
    assert page.labelled("Action").attributes["aria-invalid"] == "true"


@pytest.mark.parametrize("text", ["0001-01-01T00:00%2B23:00", "9999-12-31T23:59-23:00", "9" * 500])
async def test_no_time_breaks_the_page(client: httpx.AsyncClient, text: str) -> None:
    answer = await client.get(f"{URL}?from={text}&to={text}&object={text}&actor={text}")
    assert answer.status_code in (200, 422)


async def test_nothing_found_says_so(client: httpx.AsyncClient, filled: Database) -> None:
    page = await read(client, f"{URL}?actor=nemo")
    assert "Nothing fits this filter" in page.one("main").text
    assert page.all("link", "Show all")


async def test_hostile_names_are_text(client: httpx.AsyncClient, filled: Database) -> None:
    hostile = "<script>alert(1)</script>"
    async with filled.write() as session:
        add_entry(session, minute=9, actor=hostile, object_slug=hostile, details={hostile: hostile})
    answer = await client.get(URL)
    assert hostile not in answer.text
    assert "&lt;script&gt;alert(1)" in answer.text


async def test_who_has_no_key_of_their_own_is_found_by_name(
    client: httpx.AsyncClient, filled: Database
) -> None:
    async with filled.write() as session:
        add_entry(session, minute=9, object_slug="run-9", actor="shell", actor_key="host")
        add_entry(session, minute=10, object_slug="run-10", actor="stranger", actor_key="")
    page = await read(client, URL)
    for name, slug in (("shell", "run-9"), ("stranger", "run-10")):
        narrowed = await read(client, page.one("link", name).attributes["href"])
        assert objects(narrowed) == [f"run {slug}"]


async def test_files_hold_what_the_page_was_narrowed_to(
    client: httpx.AsyncClient, filled: Database
) -> None:
    page = await read(client, f"{URL}?actor=bob")
    answer = await client.get(page.one("link", "CSV").attributes["href"])
    assert answer.headers["content-type"].startswith("text/csv")
    assert answer.headers["content-disposition"] == 'attachment; filename="skydeck-audit.csv"'
    assert answer.headers["cache-control"] == "no-store"
    rows = list(csv.DictReader(io.StringIO(answer.text, newline="")))
    assert [row["object"] for row in rows] == ["run-1"]
    lines = await client.get(page.one("link", "JSON lines").attributes["href"])
    assert lines.headers["content-type"].startswith("application/x-ndjson")
    assert len(lines.text.splitlines()) == 1


async def test_a_file_of_a_wrong_filter_is_refused(
    client: httpx.AsyncClient, filled: Database
) -> None:
    answer = await client.get(f"{URL}.csv?from=yesterday")
    assert answer.status_code == 422
    assert "content-disposition" not in answer.headers


async def test_a_projects_log_holds_its_own_rows_only(
    client: httpx.AsyncClient, filled: Database
) -> None:
    await add_project(filled, "other")
    page = await read(client, "/projects/maze/audit")
    assert objects(page) == ["run run-3"]
    assert "/projects/maze/audit.csv" in page.one("link", "CSV").attributes["href"]
    # The address names the project; a form value cannot widen it.
    assert objects(await read(client, "/projects/maze/audit?project=other")) == ["run run-3"]
    empty = await read(client, "/projects/other/audit")
    assert "Nothing was changed yet" in empty.one("main").text
    await read(client, "/projects/nowhere/audit", status=404)


async def test_the_time_of_an_entry_is_included_at_its_start_only(
    client: httpx.AsyncClient, filled: Database
) -> None:
    at = (NOON + timedelta(minutes=2)).strftime("%Y-%m-%dT%H:%M:%S")
    assert objects(await read(client, f"{URL}?from={at}"))[-1] == "run run-2"
    assert objects(await read(client, f"{URL}?to={at}"))[0] == "run run-1"
