"""`skydeck audit`: the log on the machine itself."""

import asyncio
import csv
import io
import json
from pathlib import Path

import pytest

from app.db import Database
from app.models import AuditOutcome
from tests.audit.rows import add_entry, add_project
from tests.cli.conftest import Skydeck


@pytest.fixture
def filled(home: Path) -> None:
    async def fill() -> None:
        database = Database(f"sqlite+aiosqlite:///{home / 'skydeck.db'}")
        project_id = await add_project(database, "maze")
        async with database.write() as session:
            add_entry(session, minute=0, object_slug="run-0")
            add_entry(session, minute=1, object_slug="run-1", actor="=cmd", project_id=project_id)
            add_entry(session, minute=2, object_slug="run-2", outcome=AuditOutcome.DENIED)
        await database.close()

    asyncio.run(fill())


@pytest.mark.usefixtures("filled")
def test_list_prints_the_newest_first(skydeck: Skydeck) -> None:
    answer = skydeck("audit", "list")
    assert answer.status == 0
    titles, *rows = answer.out.splitlines()
    assert titles.split()[0] == "WHEN"
    assert [row.split()[-1] for row in rows] == ["run-2", "run-1", "run-0"]
    assert rows[0].startswith("2026-11-29 12:02:00")
    assert len(skydeck("audit", "list", "--limit", "1").out.splitlines()) == 2


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        (("--outcome", "denied"), "run-2"),
        (("--project", "maze"), "run-1"),
        (("--object", "run-0"), "run-0"),
        (("--from", "2026-11-29T12:01", "--to", "2026-11-29T12:02"), "run-1"),
    ],
)
def test_options_narrow(skydeck: Skydeck, options: tuple[str, ...], wanted: str) -> None:
    _, *rows = skydeck("audit", "list", *options).out.splitlines()
    assert [row.split()[-1] for row in rows] == [wanted]


@pytest.mark.usefixtures("filled")
def test_export_writes_whole_files(skydeck: Skydeck) -> None:
    rows = list(
        csv.DictReader(io.StringIO(skydeck("audit", "export", "--format", "csv").out, newline=""))
    )
    assert [row["object"] for row in rows] == ["run-2", "run-1", "run-0"]
    assert rows[1]["actor"] == "'=cmd"
    lines = skydeck("audit", "export", "--format", "jsonl", "--project", "maze").out.splitlines()
    assert [json.loads(line)["actor"] for line in lines] == ["=cmd"]


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--from", "yesterday"), "2026-11-29T16:20"),
        (("--action", "run.fly"), "run.fly"),
        (("--outcome", "maybe"), "maybe"),
        (("--project", "nowhere"), "nowhere"),
    ],
)
def test_what_is_no_filter_is_one_line(
    skydeck: Skydeck, options: tuple[str, ...], said: str
) -> None:
    answer = skydeck("audit", "export", "--format", "csv", *options)
    assert answer.status == 1
    assert said in answer.err
    assert (len(answer.err.splitlines()), answer.out) == (1, "")
