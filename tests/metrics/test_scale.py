"""What the store promises of strange points, many keys, late steps, and deletion."""

import math
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import func, select, text

from app.clock import utcnow
from app.db import Database
from app.errors import Invalid
from app.metrics import service
from app.metrics.columns import Columns
from app.metrics.pruning import BATCH, KEPT
from app.metrics.service import PushPlace
from app.models import MetricChunk, MetricSeries, Run
from tests.factories import ADA, make_external_run
from tests.queries import QueryCounter
from worker.cleanup import clean_up

KEYS = [
    "loss",
    "k" * 500,
    "schön ⏱ 日本語 👩‍🔬",
    "MAP@k",
    "loss[delta=1.3]",
    "<b>",
    " ",
    "a\nb",
    "' OR 1=1 --",
    "%_\\",
    "step",
    "time",
    "‮rtl",
]


async def a_run(database: Database) -> tuple[Run, PushPlace]:
    async with database.write() as session:
        run = await make_external_run(session)
    return run, PushPlace(run.id, run.slug, run.project_id, 1)


async def push(database: Database, place: PushPlace, columns: dict[str, Columns]) -> None:
    async with database.write() as session:
        await service.push(session, place, columns, actor=ADA)


def points(*rows: tuple[int, float]) -> Columns:
    return Columns.of((step, value, 1_790_000_000.5 + step) for step, value in rows)


async def test_any_unicode_is_a_key(database: Database) -> None:
    run, place = await a_run(database)
    await push(database, place, {key: points((1, float(n))) for n, key in enumerate(KEYS)})
    await push(database, place, {key: points((2, float(n))) for n, key in enumerate(KEYS)})
    async with database.read() as session:
        views = await service.read_series(session, [run], KEYS)
    assert {view.key: view.columns.values.tolist() for view in views} == {
        key: [float(n), float(n)] for n, key in enumerate(KEYS)
    }


async def test_nan_infinities_and_large_integers_are_kept_as_such(database: Database) -> None:
    run, place = await a_run(database)
    values: list[Any] = [math.nan, math.inf, -math.inf, 2**53 + 1, -(2**63) + 1, 1e308, -0.0]
    await push(database, place, {"x": points(*enumerate(values))})
    async with database.read() as session:
        (view,) = await service.read_series(session, [run], ["x"])
        (series,) = await service.list_series(session, run)
    assert list(map(repr, view.columns.numbers())) == list(map(repr, values))
    assert view.columns.times[0] == 1_790_000_000.5
    assert (series.count, series.non_finite, series.max) == (7, 3, 1e308)


async def test_five_thousand_keys_cost_no_more_statements(
    database: Database, count_queries: QueryCounter
) -> None:
    _, place = await a_run(database)
    counts = []
    for keys in (10, 5_000):
        for step in (1, 2):
            columns = {f"k/{n}": points((step, float(n))) for n in range(keys)}
            with count_queries(database) as counted:
                await push(database, place, columns)
        counts.append(counted.count)
    assert counts[0] == counts[1]
    async with database.read() as session:
        assert await session.scalar(select(func.count(MetricSeries.id))) == 5_000


async def test_late_and_repeated_steps_cost_no_more_statements(
    sqlite_database: Database, count_queries: QueryCounter
) -> None:
    run, place = await a_run(sqlite_database)
    columns = {f"k{n}": points(*((2 * s, s / 9) for s in range(1_500))) for n in range(300)}
    await push(sqlite_database, place, columns)
    counts = []
    for keys in (3, 300):
        late = {f"k{n}": points((1_001, 5.0), (1_000, -1.0)) for n in range(keys)}
        with count_queries(sqlite_database) as counted:
            await push(sqlite_database, place, late)
        counts.append(counted.count)
    assert counts[1] <= counts[0] + 2
    async with sqlite_database.read() as session:
        series = await service.list_series(session, run)
    assert {(row.count, row.min, row.last_step) for row in series} == {(1_501, -1.0, 2_998)}


async def test_a_key_that_holds_nothing_is_refused_and_nothing_is_stored(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, place = await a_run(database)
    monkeypatch.setattr(service, "MAX_KEYS", 3)
    await push(database, place, {f"k{n}": points((1, 1.0)) for n in range(3)})
    with pytest.raises(Invalid, match="at most 3 keys"):
        await push(database, place, {"k1": points((2, 1.0)), "new": points((2, 1.0))})
    async with database.read() as session:
        assert await session.scalar(select(func.max(MetricSeries.last_step))) == 1


async def test_points_of_runs_deleted_long_ago_go_in_small_steps(database: Database) -> None:
    gone, place = await a_run(database)
    kept, other = await a_run(database)
    rows = [(step, float(step)) for step in range(2_000)]
    await push(database, place, {f"k{n}": points(*rows) for n in range(200)})
    await push(database, other, {"k0": points(*rows)})
    now = utcnow()
    async with database.write() as session:
        (await session.get_one(Run, gone.id)).deleted_at = now - KEPT - timedelta(hours=1)
        (await session.get_one(Run, kept.id)).deleted_at = now - KEPT + timedelta(hours=1)
    async with database.write() as session:
        before = await session.scalar(select(func.count()).select_from(MetricChunk))
        assert await service.prune(session, now)
        after = await session.scalar(select(func.count()).select_from(MetricChunk))
    assert before is not None
    assert after == before - BATCH
    await clean_up(database, now=now)
    async with database.read() as session:
        series = list(await session.scalars(select(MetricSeries.run_id)))
        assert series == [kept.id]
        if database.engine.dialect.name == "sqlite":
            assert await session.scalar(text("PRAGMA freelist_count")) == 0
