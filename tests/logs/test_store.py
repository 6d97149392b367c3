"""The log store on real databases: no byte lost or doubled, lines found wherever chunks end."""

from collections.abc import Iterable

import pytest
from sqlalchemy import func, select

from app.clock import utcnow
from app.db import Database
from app.ids import new_id
from app.logs import service
from app.logs.scan import MAX_LINE_BYTES
from app.models import Attempt, AttemptStatus, LogChunk, LogStream, Run
from tests.factories import make_run


async def a_stream(database: Database) -> tuple[Run, LogStream]:
    async with database.write() as session:
        run = await make_run(session)
        attempt = Attempt(
            id=new_id(),
            run_id=run.id,
            number=1,
            submission_id=f"{run.slug}-a1",
            status=AttemptStatus.CREATED,
            created_at=utcnow(),
        )
        session.add(attempt)
        await session.flush()
        stream = LogStream(
            id=new_id(), attempt_id=attempt.id, run_id=run.id, attempt_number=1, n_bytes=0
        )
        stream.n_lines, stream.has_open_line, stream.is_complete = 0, False, False
        session.add(stream)
    return run, stream


async def append(database: Database, stream: LogStream, parts: Iterable[bytes]) -> None:
    for part in parts:
        async with database.write() as session:
            held = await session.get_one(LogStream, stream.id)
            await service.append(session, held, part)


async def stored(database: Database, stream: LogStream) -> bytes:
    return b"".join([part async for part in service.iter_bytes(database, stream.id)])


async def test_the_bytes_come_back_exactly(database: Database) -> None:
    _, stream = await a_stream(database)
    parts = [b"one\ntw", b"o\n\xff\xfe\x00three\r", b"\n" * 5, b"x" * 300_000, b"end"]
    await append(database, stream, parts)
    assert await stored(database, stream) == b"".join(parts)
    async with database.read() as session:
        assert (await session.get_one(LogStream, stream.id)).n_bytes == sum(map(len, parts))


async def test_small_appends_share_a_chunk(database: Database) -> None:
    _, stream = await a_stream(database)
    await append(database, stream, [b"line\n"] * 50)
    async with database.read() as session:
        assert await session.scalar(select(func.count()).select_from(LogChunk)) == 1


async def test_lines_are_numbered_across_chunks(database: Database) -> None:
    run, stream = await a_stream(database)
    text = b"".join(b"%d %s\n" % (number, b"x" * 100) for number in range(1, 4_001))
    await append(database, stream, [text[i : i + 70_001] for i in range(0, len(text), 70_001)])
    async with database.read() as session:
        page = await service.read_lines(session, run, from_line=2_500, limit=3)
        assert page.total_lines == 4_000
        assert [(line.number, line.text.split()[0]) for line in page.lines] == [
            (2_500, "2500"),
            (2_501, "2501"),
            (2_502, "2502"),
        ]
        tail = await service.read_lines(session, run, limit=2)
        assert [line.number for line in tail.lines] == [3_999, 4_000]


async def test_an_open_last_line_is_shown_and_grows(database: Database) -> None:
    run, stream = await a_stream(database)
    await append(database, stream, [b"first\nsec"])
    async with database.read() as session:
        page = await service.read_lines(session, run)
        assert [line.text for line in page.lines] == ["first", "sec"]
    await append(database, stream, [b"ond\n"])
    async with database.read() as session:
        page = await service.read_lines(session, run, from_line=2)
        assert [(line.number, line.text) for line in page.lines] == [(2, "second")]


async def test_the_tail_is_the_end_of_what_is_stored(database: Database) -> None:
    _, stream = await a_stream(database)
    data = bytes(range(256)) * 2_000
    await append(database, stream, pieces(data, 100_000))
    async with database.read() as session:
        assert await service.read_tail(session, stream.id, 300_000) == data[-300_000:]
        assert await service.read_tail(session, stream.id, 10**9) == data


async def test_search_sees_through_colours_and_case(database: Database) -> None:
    run, stream = await a_stream(database)
    await append(database, stream, [b"a\nStep \x1b[32m7\x1b[0m of 9\nb\n"])
    async with database.read() as session:
        page = await service.read_lines(session, run, q="step 7 OF")
        assert [line.number for line in page.lines] == [2]


async def test_a_long_search_goes_on_where_it_stopped(
    sqlite_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "SEARCH_BYTES", 300_000)
    run, stream = await a_stream(sqlite_database)
    text = b"".join(b"%d needle %s\n" % (n, b"x" * 5_000) for n in range(1, 300))
    endless = b"y" * 1_000_000 + b"\nneedle, half"
    await append(
        sqlite_database, stream, [part for b in (text, endless) for part in pieces(b, 70_001)]
    )
    line: int | None = 1
    found: list[int] = []
    pages = 0
    async with sqlite_database.read() as session:
        while line is not None:
            page = await service.read_lines(session, run, from_line=line, q="needle", limit=200)
            assert page.next_line is None or page.next_line > line
            found += [each.number for each in page.lines]
            line = page.next_line
            pages += 1
    assert found == [*range(1, 300), 301]
    assert pages > 5


def pieces(data: bytes, size: int) -> list[bytes]:
    return [data[i : i + size] for i in range(0, len(data), size)]


async def test_numbers_of_any_size_may_be_asked_for(database: Database) -> None:
    run, stream = await a_stream(database)
    await append(database, stream, [b"one\ntwo"])
    async with database.read() as session:
        page = await service.read_lines(session, run, from_line=10**30)
        assert (page.lines, page.total_lines, page.next_line) == ([], 2, None)
        page = await service.read_lines(session, run, attempt=10**30)
        assert (page.lines, page.total_lines) == ([], 0)


async def test_a_run_without_a_log_gives_an_empty_page(sqlite_database: Database) -> None:
    async with sqlite_database.write() as session:
        run = await make_run(session)
        page = await service.read_lines(session, run)
    assert (page.lines, page.total_lines, page.is_complete) == ([], 0, False)


async def test_an_endless_line_is_cut_where_it_is_shown(sqlite_database: Database) -> None:
    run, stream = await a_stream(sqlite_database)
    await append(sqlite_database, stream, [b"y" * 400_000 + b"\nlast\n"])
    async with sqlite_database.read() as session:
        page = await service.read_lines(session, run, from_line=1)
    assert [len(line.text) for line in page.lines] == [MAX_LINE_BYTES, 4]
