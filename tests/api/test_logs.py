"""Logs over the API: by line and as exact bytes."""

from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from app.db import Database
from app.ids import new_id
from app.logs import service as logs
from app.models import Attempt, AttemptStatus, LogStream
from app.runs import service as runs
from tests.api.helpers import V1, get, make_run, problem

AT = datetime(2026, 11, 29, 12, tzinfo=UTC)
BYTES = b"first\n\x1b[31mred\x1b[0m \xff\xfe\nthird\r\nlast, half"


@pytest.fixture
async def run(api: httpx.AsyncClient, database: Database) -> Any:
    made = await make_run(api)
    async with database.write() as session:
        row = await runs.get(session, made["id"])
        for number, data in ((1, b"old\n"), (2, BYTES)):
            attempt = Attempt(
                id=new_id(),
                run_id=row.id,
                number=number,
                submission_id=f"{row.slug}-a{number}",
                status=AttemptStatus.RUNNING,
                created_at=AT,
            )
            session.add(attempt)
            await session.flush()
            stream = LogStream(
                id=new_id(),
                attempt_id=attempt.id,
                run_id=row.id,
                attempt_number=number,
                n_bytes=0,
                n_lines=0,
            )
            session.add(stream)
            await session.flush()
            await logs.append(session, stream, data)
    return made


async def test_the_last_lines_of_the_newest_attempt(api: httpx.AsyncClient, run: Any) -> None:
    page = await get(api, f"/runs/{run['id']}/logs", limit=2)
    assert [(line["n"], line["text"]) for line in page["lines"]] == [
        (3, "third"),
        (4, "last, half"),
    ]
    assert (page["total_lines"], page["complete"]) == (4, False)


async def test_lines_from_a_number(api: httpx.AsyncClient, run: Any) -> None:
    page = await get(api, f"/runs/{run['id']}/logs", from_line=2, limit=1)
    assert [line["n"] for line in page["lines"]] == [2]
    assert "\x1b[31mred" in page["lines"][0]["text"]


async def test_lines_of_an_older_attempt(api: httpx.AsyncClient, run: Any) -> None:
    page = await get(api, f"/runs/{run['id']}/logs", attempt=1)
    assert [line["text"] for line in page["lines"]] == ["old"]


async def test_lines_that_contain_a_text(api: httpx.AsyncClient, run: Any) -> None:
    page = await get(api, f"/runs/{run['id']}/logs", q="IR")
    assert [line["n"] for line in page["lines"]] == [1, 3]


async def test_pages_follow_each_other(api: httpx.AsyncClient, run: Any) -> None:
    line, texts = 1, []
    while line is not None:
        page = await get(api, f"/runs/{run['id']}/logs", from_line=line, limit=3)
        texts += [each["text"] for each in page["lines"]]
        line = page["next_line"]
    assert len(texts) == 4
    assert texts[-1] == "last, half"


async def test_the_whole_log_is_the_exact_bytes(api: httpx.AsyncClient, run: Any) -> None:
    answer = await api.get(f"{V1}/runs/{run['id']}/logs.txt")
    assert answer.content == BYTES
    assert answer.headers["content-type"].startswith("text/plain")
    assert f"{run['id']}-a2.log" in answer.headers["content-disposition"]
    old = await api.get(f"{V1}/runs/{run['id']}/logs.txt", params={"attempt": 1})
    assert old.content == b"old\n"


async def test_no_log_yet(api: httpx.AsyncClient) -> None:
    queued = await make_run(api)
    page = await get(api, f"/runs/{queued['id']}/logs")
    assert page == {"lines": [], "total_lines": 0, "complete": False, "next_line": None}
    assert (await api.get(f"{V1}/runs/{queued['id']}/logs.txt")).content == b""


@pytest.mark.parametrize("query", [{"limit": 0}, {"from_line": 0}, {"attempt": "x"}])
async def test_questions_that_make_no_sense(
    api: httpx.AsyncClient, run: Any, query: dict[str, Any]
) -> None:
    problem(await api.get(f"{V1}/runs/{run['id']}/logs", params=query), 422)
