"""Loads runs to be compared. Sessions are let go before anything is computed."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app.clock import utcnow
from app.compare import repository
from app.compare.asked import LEAST, MOST, Asked, letter_of
from app.compare.comparison import PASS_AT_1, Comparison, by_use, choose_metric
from app.compare.curves import MeanCurve, mean_curves
from app.compare.differences import differences
from app.compare.groups import group_runs
from app.compare.measured import ComparedRun, Measured, measured
from app.compare.repository import Chosen, Summary
from app.db import Database
from app.errors import Invalid, NotFound, Problem
from app.metrics import service as metrics
from app.metrics.charts import HERO_KEY
from app.metrics.service import SeriesView
from app.models import Run, TrainingEvaluation
from app.recipes import service as recipes

MAX_KEYS = 300
"""Metrics that a comparison knows of, besides the one it looks at."""
CURVE_KEYS = 12
CURVE_POINTS = 400
MAX_ROWS = 400
"""Evaluations in a matrix of checkpoints."""


def require_comparable(asked: Asked) -> None:
    """Raises `Invalid` for fewer than `LEAST` runs and more than `MOST`."""
    count = len(asked.runs)
    if not LEAST <= count <= MOST:
        message = f"{LEAST} to {MOST} runs can be compared, not {count}"
        raise Invalid(message, [Problem("run", "count", message)])


async def compare(database: Database, asked: Asked) -> Comparison:
    """In three queries. Raises `NotFound` for a run, `Invalid` for their number."""
    require_comparable(asked)
    async with database.read() as session:
        runs = await find_runs(session, asked.runs)
        ids = [run.id for run in runs]
        keys = [key for key in (asked.metric, HERO_KEY, PASS_AT_1) if key]
        summaries = await repository.list_summaries(session, ids, keys, limit=MAX_KEYS)
        chosen = await repository.list_chosen(session, ids)
    # In a thread: a hundred configs and six thousand mazes take a while.
    return await asyncio.to_thread(_compared, asked, runs, summaries, chosen)


async def read_curves(database: Database, found: Comparison) -> list[SeriesView]:
    """Thinned series for a report: of the metric, the solve rate, and what most runs have.

    As many keys as hold `MAX_POINTS` of `metrics.service` in all, at most `CURVE_KEYS`.
    """
    keys, count = list[str](), 0
    for key in dict.fromkeys([HERO_KEY, found.metric, *found.keys]):
        points = [each.summaries[key].count for each in found.runs if key in each.summaries]
        if points and count + sum(points) <= metrics.MAX_POINTS and len(keys) < CURVE_KEYS:
            keys.append(key)
            count += sum(points)
    async with database.read() as session:
        loaded = await metrics.load_series(session, [each.run for each in found.runs], keys)
    return await asyncio.to_thread(loaded.views, CURVE_POINTS)


async def read_means(database: Database, found: Comparison) -> list[MeanCurve]:
    """The metric's mean over each group, by step; none where no group has two runs.

    None beyond `MAX_POINTS` of `metrics.service`, either.
    """
    count = sum(
        each.summaries[found.metric].count for each in found.runs if found.metric in each.summaries
    )
    if all(len(group.members) < 2 for group in found.groups) or count > metrics.MAX_POINTS:
        return []
    runs = [each.run for each in found.runs]
    async with database.read() as session:
        loaded = await metrics.load_series(session, runs, [found.metric])
    views = await asyncio.to_thread(loaded.views, CURVE_POINTS)
    places = {run.slug: place for place, run in enumerate(runs)}
    return await asyncio.to_thread(
        mean_curves, found.groups, {places[view.run]: view.columns for view in views}
    )


async def find_runs(session: AsyncSession, slugs: Sequence[str]) -> list[Run]:
    """In their order, in one query. Raises `NotFound`, naming the first that is missing."""
    found = await repository.list_runs(session, slugs)
    for slug in slugs:
        if slug not in found:
            raise NotFound(f"there is no run {slug}")
    return [found[slug] for slug in slugs]


async def list_checkpoints(
    database: Database, asked: Asked
) -> list[tuple[Run, list[Measured], int]]:
    """Each run with its evaluations by step, and how many it has: some are left out beyond
    `MAX_ROWS` in all, evenly, never the first or the last. Raises as `compare` does, but for one
    run, too.
    """
    if len(asked.runs) != 1:
        require_comparable(asked)
    async with database.read() as session:
        runs = await find_runs(session, asked.runs)
        places = await repository.list_places(session, [run.id for run in runs])
        by_run: dict[UUID, list[UUID]] = {run.id: [] for run in runs}
        for place in places:
            by_run[place.run_id].append(place.id)
        kept = {run_id: _thinned(ids, MAX_ROWS // len(runs)) for run_id, ids in by_run.items()}
        wanted = [each for ids in kept.values() for each in ids]
        rows = await repository.list_evaluations(session, wanted)
    by_id = await asyncio.to_thread(_all_measured, rows)
    return [(run, [by_id[each] for each in kept[run.id]], len(by_run[run.id])) for run in runs]


def _compared(
    asked: Asked, runs: Sequence[Run], summaries: Sequence[Summary], chosen: Sequence[Chosen]
) -> Comparison:
    by_run: dict[UUID, dict[str, Summary]] = {}
    for each in summaries:
        by_run.setdefault(each.run_id, {})[each.key] = each
    evaluations: dict[UUID, list[Chosen]] = {}
    for found in chosen:
        evaluations.setdefault(found.row.run_id, []).append(found)
    now = utcnow()
    compared = [
        _compared_run(
            run, letter_of(place), by_run.get(run.id, {}), evaluations.get(run.id, []), now
        )
        for place, run in enumerate(runs)
    ]
    differing = differences([run.config.values for run in runs])
    grouped_by, groups = group_runs(compared, differing, asked.group)
    keys = by_use(compared)
    return Comparison(
        runs=compared,
        differing=differing,
        keys=keys,
        metric=choose_metric(asked.metric, keys),
        at=asked.at,
        grouped_by=grouped_by,
        groups=groups,
    )


def _compared_run(
    run: Run,
    letter: str,
    summaries: Mapping[str, Summary],
    chosen: Sequence[Chosen],
    now: datetime,
) -> ComparedRun:
    last, best = None, None
    for each in chosen:
        found = measured(each.row)
        last, best = found if each.is_last else last, found if each.is_best else best
    gpus = recipes.gpus_of(run.config.recipe, run.config.values)
    seconds = sum(
        max(0.0, ((attempt.ended_at or now) - attempt.started_at).total_seconds())
        for attempt in run.attempts
        if attempt.started_at is not None
    )
    return ComparedRun(
        run=run,
        letter=letter,
        gpus=gpus,
        gpu_seconds=None if gpus is None else gpus * seconds,
        last=last,
        best=best,
        evaluation_count=chosen[0].count if chosen else 0,
        summaries=summaries,
    )


def _all_measured(rows: Sequence[TrainingEvaluation]) -> dict[UUID, Measured]:
    return {row.id: measured(row) for row in rows}


def _thinned(ids: Sequence[UUID], limit: int) -> list[UUID]:
    if len(ids) <= limit:
        return list(ids)
    last = len(ids) - 1
    return [ids[round(place * last / (limit - 1))] for place in range(limit)]
