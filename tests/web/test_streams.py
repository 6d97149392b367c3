from collections.abc import Sequence
from functools import partial

import httpx
from fastapi.sse import ServerSentEvent

from app.db import Database
from app.metrics import service as metrics
from app.models import RunStatus
from app.runs import service as runs
from app.runs.states import transition
from app.runs.stream_routes import LogFollower, RunFollower
from app.web.sse import END, RECHECK_SECONDS, poll
from tests.queries import QueryCounter
from tests.web.seed import Seeded, add_evaluation, add_log, add_points


def names(events: Sequence[ServerSentEvent]) -> list[str | None]:
    return [event.event for event in events]


async def test_a_reader_is_told_only_what_is_new(sqlite_database: Database, seeded: Seeded) -> None:
    reader = RunFollower(sqlite_database, seeded.running)
    assert names(await reader.look()) == ["series", "evaluation", "run"]
    assert await reader.look() == []
    async with sqlite_database.write() as session:
        run = await runs.get(session, seeded.running)
        run.step = 86
        await add_points(session, run, 85, 86)
    points, run_event = await reader.look()
    by_key = {row["key"]: row for row in points.data["series"]}
    assert by_key["timing/step"]["step"] == [85, 86]
    assert by_key["timing/step"]["is_new"] is True
    assert "eval/all/pass_at_1" not in by_key
    assert run_event.event == "run"
    assert await reader.look() == []


async def test_each_batch_names_the_cursor_that_it_follows(
    sqlite_database: Database, seeded: Seeded
) -> None:
    reader = RunFollower(sqlite_database, seeded.running)
    await reader.look()
    cursors = []
    for step in (85, 86):
        async with sqlite_database.write() as session:
            await add_points(session, await runs.get(session, seeded.running), step, step)
        (event,) = await reader.look()
        row = next(row for row in event.data["series"] if row["key"] == "timing/step")
        cursors.append((row["after"], row["cursor"]))
    assert cursors[1][0] == cursors[0][1]


async def test_an_evaluation_brings_the_whole_hero(
    sqlite_database: Database, seeded: Seeded
) -> None:
    reader = RunFollower(sqlite_database, seeded.running)
    await reader.look()
    async with sqlite_database.write() as session:
        run = await runs.get(session, seeded.running)
        await add_evaluation(session, run, step=100, solved=60)
    (event,) = await reader.look()
    assert event.event == "evaluation"
    assert event.data["step"][-1] == 100
    assert event.data["solved"][-1] == 60


async def test_each_connection_begins_with_where_everything_stands(
    sqlite_database: Database, seeded: Seeded
) -> None:
    async with sqlite_database.write() as session:
        run = await runs.get(session, seeded.running)
        stands = await metrics.list_cursors(session, run)
        await add_points(session, run, 85, 85)
    series, evaluation, status = await RunFollower(sqlite_database, seeded.running).look()
    moved = {key for key, cursor in series.data["cursors"].items() if stands[key] != cursor}
    assert "timing/step" in moved
    assert "eval/all/pass_at_1" not in moved
    assert evaluation.data["step"] == [0, 20, 40, 60, 80]
    assert status.data == {"status": "running"}


async def test_the_first_look_at_a_run_without_anything_still_tells_all(
    sqlite_database: Database, seeded: Seeded
) -> None:
    events = await RunFollower(sqlite_database, seeded.queued).look()
    assert names(events) == ["series", "evaluation", "run"]
    assert events[1].data["step"] == []


async def test_a_step_that_is_evaluated_again_comes_again(
    sqlite_database: Database, seeded: Seeded
) -> None:
    reader = RunFollower(sqlite_database, seeded.running)
    await reader.look()
    async with sqlite_database.write() as session:
        run = await runs.get(session, seeded.running)
        await add_evaluation(session, run, step=80, solved=53, attempt=2)
    (event,) = await reader.look()
    assert event.event == "evaluation"
    assert event.data["attempt"] == [1, 1, 1, 1, 2]


async def test_the_end_comes_after_what_is_stored_last(
    sqlite_database: Database, seeded: Seeded
) -> None:
    reader = RunFollower(sqlite_database, seeded.running)
    await reader.look()
    async with sqlite_database.write() as session:
        run = await runs.get(session, seeded.running)
        at = run.created_at
        session.add(transition(run, RunStatus.SUCCEEDED, at=at, actor="worker", reason="observed"))
    assert names(await reader.look()) == ["run"]
    async with sqlite_database.write() as session:
        await add_points(session, await runs.get(session, seeded.running), 85, 86)
    assert names(await reader.look()) == ["points"]
    assert names(await reader.look()) == [END]


async def test_a_growing_line_comes_again_whole(sqlite_database: Database, seeded: Seeded) -> None:
    reader = LogFollower(sqlite_database, seeded.running, None, 1098)
    assert await reader.look() == []
    shown: list[tuple[int, str]] = []
    for data in (b"half", b" a line\nnext\n", b"", b"last\n"):
        async with sqlite_database.write() as session:
            run = await runs.get(session, seeded.running)
            await add_log(session, run, run.attempts[0], data)
        for event in await reader.look():
            lines = event.data["lines"]
            shown += [(line["number"], "".join(t for _, t in line["pieces"])) for line in lines]
    assert shown == [
        (1098, "half"),
        (1098, "half a line"),
        (1099, "next"),
        (1099, "next"),
        (1100, "last"),
    ]


async def test_a_stream_looks_pauses_and_ends_after_its_life() -> None:
    clock = 0.0
    looks = 0

    async def look() -> list[ServerSentEvent]:
        nonlocal looks
        looks += 1
        return [ServerSentEvent(event="x", data=looks)]

    async def sleep(seconds: float) -> None:
        nonlocal clock
        clock += seconds

    async def stands() -> bool:
        return clock < 20

    live = partial(poll, look, stands=stands, pause=2, sleep=sleep, now=lambda: clock)
    events = [e async for e in live(lifetime=6)]
    assert [event.data for event in events] == [None, 1, 2, 3]
    assert events[0].retry is not None
    events = [e async for e in live(lifetime=600)]
    assert clock <= 20 + RECHECK_SECONDS, "it goes on after the reader was shut out"
    assert len(events) > 4


async def test_an_ended_run_answers_its_streams_and_closes(
    client: httpx.AsyncClient, seeded: Seeded
) -> None:
    for path in ("stream", "log/stream?from=3644"):
        answer = await client.get(f"/runs/{seeded.succeeded}/{path}")
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        blocks = [block for block in answer.text.split("\n\n") if "event: end" in block]
        assert len(blocks) == 1
    assert (await client.get("/runs/run-nothing1/stream")).status_code == 404


async def test_lines_travel_as_text_and_class_names(
    sqlite_database: Database, seeded: Seeded
) -> None:
    (event,) = await LogFollower(sqlite_database, seeded.succeeded, None, 1).look()
    assert event.data["lines"][2]["pieces"] == [
        ("ansi-yellow", "No checkpoint found, starting training from scratch")
    ]


async def test_a_look_that_finds_nothing_new_reads_no_series(
    sqlite_database: Database, seeded: Seeded, count_queries: QueryCounter
) -> None:
    reader = RunFollower(sqlite_database, seeded.running)
    await reader.look()
    with count_queries(sqlite_database) as counted:
        assert await reader.look() == []
    assert counted.count <= 6
    assert not any("metric_series" in statement for statement in counted.statements)
