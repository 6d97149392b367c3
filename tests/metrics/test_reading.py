"""Series as charts ask for them: custom axes, windows, hidden attempts, one cursor for all."""

import math
import random
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pytest

from app.db import Database
from app.metrics import growth, service
from app.metrics.service import Axis, LoadedSeries, Look, MetricPoint, SeriesView, Window
from app.models import Run
from tests.factories import make_external_run

BY_EPOCH = Look(Axis.parse("metric:epoch"))


async def a_run(database: Database) -> Run:
    async with database.write() as session:
        return await make_external_run(session)


async def log(
    database: Database,
    run: Run,
    series: Mapping[str, Iterable[tuple[int, float]]],
    *,
    attempt: int = 1,
) -> None:
    rows = [
        MetricPoint(key, step, value, 1_000.0 + step)
        for key, points in series.items()
        for step, value in points
    ]
    async with database.write() as session:
        await service.ingest(session, run.id, attempt, rows)


async def load(
    database: Database, run: Run, look: Look, *, since: Sequence[str] = (), key: str = "loss"
) -> LoadedSeries:
    async with database.read() as session:
        fresh = await session.get_one(Run, run.id)
        return await service.load_series(session, [fresh], [key], look=look, since=since)


async def read(
    database: Database, run: Run, look: Look, *, since: Sequence[str] = (), max_points: int = 1_000
) -> list[SeriesView]:
    return (await load(database, run, look, since=since)).views(max_points)


def rows_of(view: SeriesView) -> list[tuple[float, float]]:
    x = view.columns.steps if view.x is None else view.x
    return list(zip(x.tolist(), view.columns.values.tolist(), strict=True))


async def test_a_metric_as_the_x_axis(database: Database) -> None:
    run = await a_run(database)
    await log(database, run, {"loss": [(1, 0.9), (2, 0.8), (3, 0.7)]})
    await log(database, run, {"epoch": [(1, 0.5), (3, 1.0), (4, 2.0)]})
    [view] = await read(database, run, BY_EPOCH)
    assert rows_of(view) == [(0.5, 0.9), (1.0, 0.7)]
    assert (view.missing, view.key) == (1, "loss")


async def test_a_value_of_the_x_axis_that_comes_late_brings_the_series_again(
    database: Database,
) -> None:
    run = await a_run(database)
    await log(database, run, {"loss": [(1, 0.9), (2, 0.8)], "epoch": [(1, 0.5)]})
    [first] = await read(database, run, BY_EPOCH)
    assert await read(database, run, BY_EPOCH, since=[first.cursor]) == []
    await log(database, run, {"epoch": [(2, 0.75)]})
    [second] = await read(database, run, BY_EPOCH, since=[first.cursor])
    assert (rows_of(second), second.is_new) == ([(0.5, 0.9), (0.75, 0.8)], False)
    assert await read(database, run, BY_EPOCH, since=[second.cursor]) == []


async def test_the_axis_may_be_the_metric_itself(database: Database) -> None:
    run = await a_run(database)
    await log(database, run, {"loss": [(1, 0.5), (2, 0.25)]})
    [view] = await read(database, run, Look(Axis.parse("metric:loss")))
    assert rows_of(view) == [(0.25, 0.25), (0.5, 0.5)]


async def test_a_window_has_its_points_and_one_on_either_side(database: Database) -> None:
    run = await a_run(database)
    await log(database, run, {"loss": [(10 * n, float(n)) for n in range(100)]})
    [view] = await read(database, run, Look(window=Window(295.0, 331.0)))
    assert view.columns.steps.tolist() == [290, 300, 310, 320, 330, 340]
    [gap] = await read(database, run, Look(window=Window(301.0, 302.0)))
    assert gap.columns.steps.tolist() == [300, 310]
    [beyond] = await read(database, run, Look(window=Window(2_000.0, 3_000.0)))
    assert len(beyond.columns) == 0


async def test_a_window_is_thinned_by_itself(database: Database) -> None:
    run = await a_run(database)
    await log(database, run, {"loss": [(n, math.sin(n / 50)) for n in range(5_000)]})
    [whole] = await read(database, run, Look(), max_points=100)
    [part] = await read(database, run, Look(window=Window(1_000.0, 1_090.0)), max_points=100)
    assert (whole.is_sampled, part.is_sampled) == (True, False)
    assert part.columns.steps.tolist() == list(range(999, 1_092))


async def test_a_window_in_seconds_since_the_start(database: Database) -> None:
    run = await a_run(database)
    started = (run.started_at or run.created_at).timestamp()
    async with database.write() as session:
        points = [MetricPoint("loss", n, float(n), started + n / 4) for n in range(40)]
        await service.ingest(session, run.id, 1, points)
    [view] = await read(database, run, Look(Axis.parse("relative"), Window(2.0, 2.5)))
    assert view.x is not None
    assert [round(at, 2) for at in view.x.tolist()] == [1.75, 2.0, 2.25, 2.5, 2.75]


async def test_a_window_in_the_past_only_moves_the_cursor(database: Database) -> None:
    run = await a_run(database)
    past, open_ended = Look(window=Window(0.0, 5.0)), Look(window=Window(5.0))
    await log(database, run, {"loss": [(n, float(n)) for n in range(10)]})
    [first] = await read(database, run, past)
    await log(database, run, {"loss": [(10, 10.0)]})
    [moved] = await read(database, run, past, since=[first.cursor])
    assert (moved.is_new, len(moved.columns)) == (True, 0)
    assert await read(database, run, past, since=[moved.cursor]) == []
    [whole] = await read(database, run, open_ended, since=[first.cursor])
    assert (whole.is_new, whole.columns.steps.tolist()) == (False, [4, 5, 6, 7, 8, 9, 10])


async def test_what_newer_attempts_hide_comes_on_demand(database: Database) -> None:
    run = await a_run(database)
    await log(database, run, {"loss": [(n, 1.0) for n in range(1, 7)]})
    await log(database, run, {"loss": [(n, 2.0) for n in range(3, 6)]}, attempt=2)
    await log(database, run, {"loss": [(n, 3.0) for n in range(5, 9)]}, attempt=3)
    shown, *hidden = await read(database, run, Look(has_hidden=True))
    assert [value for _, value in rows_of(shown)] == [1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 3.0, 3.0]
    assert (shown.attempt, shown.is_hidden, shown.resumes) == (
        3,
        False,
        [(3, 2, 3.0), (5, 3, 5.0)],
    )
    assert shown.attempts.tolist() == [1, 1, 2, 2, 3, 3, 3, 3]
    assert [(each.attempt, each.is_hidden, rows_of(each)) for each in hidden] == [
        (1, True, [(3, 1.0), (4, 1.0), (5, 1.0), (6, 1.0)]),
        (2, True, [(5, 2.0)]),
    ]
    [alone] = await read(database, run, Look())
    assert rows_of(alone) == rows_of(shown)


async def test_hidden_points_stand_where_their_own_attempt_was(database: Database) -> None:
    run = await a_run(database)
    old = {"loss": [(n, 1.0) for n in range(4)], "epoch": [(n, n / 2) for n in range(4)]}
    await log(database, run, old)
    new = {"loss": [(2, 2.0), (3, 2.0)], "epoch": [(2, 10.0), (3, 11.0)]}
    await log(database, run, new, attempt=2)
    look = Look(BY_EPOCH.axis, has_hidden=True)
    shown, hidden = await read(database, run, look)
    assert rows_of(shown) == [(0.0, 1.0), (0.5, 1.0), (10.0, 2.0), (11.0, 2.0)]
    assert rows_of(hidden) == [(1.0, 1.0), (1.5, 1.0)]
    assert shown.resumes == [(2, 2, 10.0)]


async def test_one_cursor_stands_for_all_series(database: Database) -> None:
    run = await a_run(database)
    await log(database, run, {"loss": [(1, 1.0)], "lr": [(1, 0.1)]})

    async def look(since: Sequence[str] = ()) -> tuple[list[SeriesView], str | None]:
        async with database.read() as session:
            fresh = await session.get_one(Run, run.id)
            keys = ["loss", "lr"]
            loaded = await service.load_series(session, [fresh], keys, since=since)
        return loaded.views(1_000), loaded.cursor

    _, cursor = await look()
    assert cursor is not None
    assert await look([cursor]) == ([], None)
    await log(database, run, {"lr": [(2, 0.2)]})
    [view], second = await look([cursor])
    assert (view.key, view.is_new, rows_of(view)) == ("lr", True, [(2, 0.2)])
    assert second is not None
    await log(database, run, {"other": [(1, 1.0)]})
    views, third = await look([second])
    assert views == []
    assert third not in (None, second)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("look", [Look(), Look(has_hidden=True), Look(window=Window(3.0, 9.0))])
async def test_who_follows_by_cursor_sees_what_a_plain_model_says(
    sqlite_database: Database, monkeypatch: pytest.MonkeyPatch, seed: int, look: Look
) -> None:
    """Points of three attempts, late, again and back: new ones appended, else replaced."""
    monkeypatch.setattr(growth, "CHUNK_POINTS", 4)
    chance = random.Random(seed)
    run = await a_run(sqlite_database)
    logged: dict[int, dict[int, float]] = {}
    seen: dict[tuple[int, bool], dict[int, float]] = {}
    since: list[str] = []
    end = 0
    for _ in range(14):
        attempt = chance.choice([1, max(logged, default=1), min(3, max(logged, default=1) + 1)])
        start = chance.choice([end, end, end, chance.randrange(12)])
        points = [(start + n, chance.random()) for n in range(chance.randrange(1, 7))]
        end = points[-1][0] + 1
        await log(sqlite_database, run, {"loss": points}, attempt=attempt)
        logged.setdefault(attempt, {}).update(points)
        loaded = await load(sqlite_database, run, look, since=since)
        for view in loaded.views(1_000):
            place = (view.attempt, view.is_hidden) if view.is_hidden else (0, False)
            if not view.is_new:
                seen = {key: seen[key] for key in seen if view.is_hidden and key != place}
                seen[place] = {}
            seen[place].update(rows_of(view))  # type: ignore[arg-type]  # x is the step
        since = [loaded.cursor] if loaded.cursor else since
        assert {key: points for key, points in seen.items() if points} == model(logged, look)


def model(
    logged: Mapping[int, Mapping[int, float]], look: Look
) -> dict[tuple[int, bool], dict[int, float]]:
    """What is to be seen, by (0, False) for what is shown and (attempt, True) for what is not."""
    found: dict[tuple[int, bool], dict[int, float]] = {(0, False): {}}
    for attempt, points in logged.items():
        cutoff = min((min(logged[newer]) for newer in logged if newer > attempt), default=math.inf)
        found[0, False] |= {step: value for step, value in points.items() if step < cutoff}
        if look.has_hidden:
            found[attempt, True] = {step: v for step, v in points.items() if step >= cutoff}
    for place, points in found.items():
        steps = sorted(points)
        drawn = look.window.indices(np.array(steps, dtype=np.int64)).tolist()
        found[place] = {steps[index]: points[steps[index]] for index in drawn}
    return {place: points for place, points in found.items() if points}
