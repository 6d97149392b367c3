"""The audit log as a file: whole, exact, and harmless in a spreadsheet."""

import csv
import io
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from app.audit import service
from app.audit.export import COLUMNS, Format, Writer
from app.audit.service import Filter, Row
from app.db import Database
from tests.audit.rows import add_entry, add_project
from tests.queries import QueryCounter


async def written(database: Database, kind: Format, chosen: Filter | None = None) -> str:
    batches = service.iter_batches(database, chosen or Filter())
    return "".join([piece async for piece in Writer(kind).write(batches)])


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


async def test_csv_holds_every_field_with_the_exact_time(database: Database) -> None:
    project_id = await add_project(database, "maze")
    async with database.write() as session:
        add_entry(
            session,
            project_id=project_id,
            after_digest="f" * 64,
            details={"changed": ["name", "tags"]},
        )
    text = await written(database, Format.CSV)
    assert text.splitlines()[0] == ",".join(COLUMNS)
    (row,) = rows_of(text)
    assert row["at"] == "2026-11-29T12:00:00.000000Z"
    assert row["project"] == "maze"
    assert (row["before_digest"], row["after_digest"]) == ("", "f" * 64)
    assert json.loads(row["details"]) == {"changed": ["name", "tags"]}


async def test_json_lines_hold_the_same_fields(database: Database) -> None:
    async with database.write() as session:
        add_entry(session, actor="Zoë", details={"needs": "write"})
    (line,) = (await written(database, Format.JSONL)).splitlines()
    row = json.loads(line)
    assert set(row) == set(COLUMNS)
    assert row["actor"] == "Zoë"
    assert row["project"] is None
    assert row["details"] == {"needs": "write"}


@pytest.mark.parametrize(
    "name", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", '=HYPERLINK("http://evil","x")']
)
async def test_no_cell_is_a_formula(database: Database, name: str) -> None:
    async with database.write() as session:
        add_entry(session, actor=name, object_slug=name, request_id="-1")
    (row,) = rows_of(await written(database, Format.CSV))
    assert row["actor"] == row["object"] == f"'{name}"
    assert row["request_id"] == "'-1"


async def test_quotes_commas_and_line_ends_stay_in_their_cell(database: Database) -> None:
    name = 'a "b", c\nd'
    async with database.write() as session:
        add_entry(session, actor=name)
    (row,) = rows_of(await written(database, Format.CSV))
    assert row["actor"] == name


async def test_a_file_without_rows_has_its_titles(database: Database) -> None:
    assert (await written(database, Format.CSV)).split() == [",".join(COLUMNS)]
    assert await written(database, Format.JSONL) == ""


async def test_long_logs_come_in_batches(
    database: Database, count_queries: QueryCounter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "_BATCH", 10)
    async with database.write() as session:
        for minute in range(25):
            add_entry(session, minute=minute, object_slug=f"run-{minute}")
    with count_queries(database) as counted:
        rows = [json.loads(line) for line in (await written(database, Format.JSONL)).splitlines()]
    assert [row["object"] for row in rows] == [f"run-{minute}" for minute in reversed(range(25))]
    assert counted.count == 3


async def test_what_is_written_is_what_the_filter_chose(database: Database) -> None:
    async with database.write() as session:
        add_entry(session, minute=0)
        add_entry(session, minute=1, actor="bob")
    text = await written(database, Format.JSONL, Filter.by("bob"))
    assert [json.loads(line)["actor"] for line in text.splitlines()] == ["bob"]


async def test_a_batch_is_written_before_the_next_one_is_read() -> None:
    read: list[str] = []

    async def batches() -> AsyncIterator[Sequence[Row]]:
        for name in ("first", "second"):
            read.append(name)
            yield []

    pieces: Any = Writer(Format.CSV).write(batches())
    await anext(pieces)
    await anext(pieces)
    assert read == ["first"]
