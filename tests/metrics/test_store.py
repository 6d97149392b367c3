"""The series store on real databases: what goes in comes out, whatever the order."""

import math
from collections.abc import Iterable, Sequence

import pytest

from app.clock import utcnow
from app.db import Database
from app.errors import Invalid
from app.metrics import service
from app.metrics.series import CHUNK_POINTS
from app.metrics.service import MetricPoint, SeriesView
from app.models import Run, TrainingEvaluation
from tests.factories import make_external_run
from tests.queries import QueryCounter

KEY = "reward/avg_raw_reward"


async def a_run(database: Database) -> Run:
    async with database.write() as session:
        return await make_external_run(session)


async def log(
    database: Database, run: Run, points: Iterable[tuple[int, float]], *, attempt: int = 1
) -> None:
    async with database.write() as session:
        rows = [MetricPoint(KEY, step, value, 1_000.0 + step) for step, value in points]
        await service.ingest(session, run.id, attempt, rows)


async def read(
    database: Database, run: Run, *, since: Sequence[str] = (), max_points: int = 1_000
) -> SeriesView | None:
    async with database.read() as session:
        views = await service.read_series(session, [run], [KEY], since=since, max_points=max_points)
    return views[0] if views else None


async def test_points_come_back_in_the_order_of_their_steps(database: Database) -> None:
    run = await a_run(database)
    await log(database, run, [(2, 0.5), (1, 0.25)])
    await log(database, run, [(3, 0.75)])
    view = await read(database, run)
    assert view is not None
    assert view.columns.steps.tolist() == [1, 2, 3]
    assert view.columns.values.tolist() == [0.25, 0.5, 0.75]
    assert view.columns.times.tolist() == [1_001.0, 1_002.0, 1_003.0]


async def test_a_series_longer_than_a_chunk_is_whole(database: Database) -> None:
    run = await a_run(database)
    count = 2 * CHUNK_POINTS + 7
    for start in range(0, count, 100):
        await log(database, run, [(i, float(i)) for i in range(start, min(start + 100, count))])
    view = await read(database, run, max_points=count)
    assert view is not None
    assert view.columns.values.tolist() == [float(i) for i in range(count)]


async def test_the_summary_knows_last_best_and_non_finite(database: Database) -> None:
    run = await a_run(database)
    await log(database, run, [(1, 0.2), (2, 0.9), (3, math.nan)])
    await log(database, run, [(4, 0.4), (5, math.inf)])
    async with database.read() as session:
        (summary,) = await service.list_series(session, run)
    assert (summary.best, summary.best_step, summary.min, summary.max) == (0.9, 2, 0.2, 0.9)
    assert (summary.count, summary.non_finite, summary.last_step) == (5, 2, 5)


async def test_a_cursor_brings_only_what_is_new(database: Database) -> None:
    run = await a_run(database)
    await log(database, run, [(1, 0.1), (2, 0.2)])
    first = await read(database, run)
    assert first is not None
    assert await read(database, run, since=[first.cursor]) is None
    await log(database, run, [(3, 0.3)])
    second = await read(database, run, since=[first.cursor])
    assert second is not None
    assert second.is_new
    assert second.columns.steps.tolist() == [3]


async def test_a_resumed_attempt_replaces_from_its_first_step_on(database: Database) -> None:
    run = await a_run(database)
    await log(database, run, [(1, 0.1), (2, 0.2), (3, 0.3)])
    first = await read(database, run)
    await log(database, run, [(2, 0.5)], attempt=2)
    assert first is not None
    view = await read(database, run, since=[first.cursor])
    assert view is not None
    assert not view.is_new
    assert view.columns.steps.tolist() == [1, 2]
    assert view.columns.values.tolist() == [0.1, 0.5]
    async with database.read() as session:
        (summary,) = await service.list_series(session, run)
    assert (summary.count, summary.stored_count, summary.last) == (2, 4, 0.5)


async def test_a_step_out_of_order_is_sent_as_a_whole(database: Database) -> None:
    run = await a_run(database)
    await log(database, run, [(1, 0.1), (5, 0.5)])
    first = await read(database, run)
    await log(database, run, [(3, 0.3)])
    assert first is not None
    view = await read(database, run, since=[first.cursor])
    assert view is not None
    assert not view.is_new
    assert view.columns.steps.tolist() == [1, 3, 5]


async def test_a_long_series_is_thinned_and_says_so(database: Database) -> None:
    run = await a_run(database)
    await log(database, run, [(i, math.sin(i)) for i in range(5_000)])
    view = await read(database, run, max_points=200)
    assert view is not None
    assert view.is_sampled
    assert len(view.columns) <= 200
    assert view.columns.steps[[0, -1]].tolist() == [0, 4_999]


@pytest.mark.parametrize("cursor", ["", "x", "1:2:3", "a:b:c:d", "1:-2:3:4"])
async def test_a_strange_cursor_is_refused(sqlite_database: Database, cursor: str) -> None:
    run = await a_run(sqlite_database)
    with pytest.raises(Invalid, match="cursor"):
        await read(sqlite_database, run, since=[cursor])


async def test_many_keys_cost_few_queries(
    sqlite_database: Database, count_queries: QueryCounter
) -> None:
    run = await a_run(sqlite_database)

    async def log_keys(step: int, keys: int) -> int:
        with count_queries(sqlite_database) as counted:
            async with sqlite_database.write() as session:
                points = [MetricPoint(f"k{i}", step, 1.0, 0.0) for i in range(keys)]
                await service.ingest(session, run.id, 1, points)
        return counted.count

    await log_keys(1, 10)
    few = await log_keys(2, 10)
    await log_keys(1, 300)
    assert await log_keys(3, 300) == few


async def test_an_evaluation_that_a_resume_hides_counts_no_more(database: Database) -> None:
    run = await a_run(database)
    async with database.write() as session:
        for attempt, step, solved in ((1, 0, 30), (1, 20, 50), (1, 40, 64), (2, 20, 49)):
            session.add(
                TrainingEvaluation(
                    run_id=run.id,
                    attempt_number=attempt,
                    step=step,
                    env_id="maze_2d/easy",
                    max_turns=15,
                    n=64,
                    solved_count=solved,
                    passed_count=solved,
                    items=[],
                    path="x",
                    created_at=utcnow(),
                )
            )
    async with database.read() as session:
        counts = (await service.list_solve_counts(session, [run]))[run.id]
    assert [(count.step, count.solved) for count in counts] == [(0, 30), (20, 49)]
