"""Builds what the pages about runs show, from rows that services return. Reads no database."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any

import numpy as np

from app.metrics.charts import HERO_KEY, ChartSpec, chart_for
from app.metrics.service import SeriesView, SolveCount
from app.models import (
    Checkpoint,
    DesiredStatus,
    Event,
    MetricSeries,
    Run,
    RunOrigin,
    RunStatus,
    TrainingEvaluation,
)
from app.runs.contexts import (
    AttemptRow,
    Failure,
    Figure,
    MazeCell,
    MazeGrid,
    PromotablePlace,
    RunHead,
    SweepPlace,
    Tab,
    TimelineEvent,
)
from app.runs.queue import ClusterLoad
from app.runs.states import ENDED
from app.web.chart_board import ChartBoard, ChartRun, LiveBy, board
from app.web.cluster_line import cluster_line
from app.web.filters import duration, number, percent
from app.web.run_table import SolveCounts, colour_of, conditions, rate_figure, solved_share
from app.web.run_words import ends_at, seconds_taken, status_words
from app.web.svg import MazePicture, maze_picture

_UNKNOWN = "–"
_FIRST = "Before training"
_STEPS_KEY = "trainer.max_training_steps"
STAND_IN_KEY = "eval/all/pass_at_1"
_STAND_INS = (HERO_KEY, STAND_IN_KEY, "reward/avg_raw_reward")
_TABS = (
    ("Charts", ""),
    ("Log", "/log"),
    ("Checkpoints", "/checkpoints"),
    ("Config", "/config"),
    ("Timeline", "/timeline"),
)
_FAILED = (RunStatus.FAILED, RunStatus.LOST)
_STATUS_EVENTS = ("status", "attempt_status")
_EVENT_TITLES = {
    "created": "Created",
    "stop_requested": "Stop asked for",
    "resume_requested": "Resume asked for",
    "deleted": "Deleted",
    "restored": "Restored",
}


def run_head(
    run: Run,
    *,
    load: ClusterLoad,
    tab: str,
    can_write: bool,
    pushed_step: int | None = None,
    promotable: Checkpoint | None = None,
    is_settling: bool = False,
) -> RunHead:
    """`tab` is the title of the tab that is open, or empty."""
    is_live = run.status not in ENDED
    is_ours = run.origin is RunOrigin.SUBMITTED
    is_deleted = run.deleted_at is not None
    is_unfinished = not is_live and run.status is not RunStatus.SUCCEEDED
    return RunHead(
        slug=run.slug,
        name=run.name,
        colour=colour_of(run),
        experiment_slug=run.experiment.slug,
        experiment_name=run.experiment.name,
        project_slug=run.experiment.project.slug,
        project_name=run.experiment.project.name,
        status=run.status,
        words=status_words(
            run,
            position=load.position(run.id),
            pushed_step=pushed_step,
            sweep_limit=load.held.get(run.id),
        ),
        step=pushed_step if run.step is None else run.step,
        ends_at=ends_at(run),
        conditions=conditions(run),
        cluster=cluster_line(run.cluster, load) if run.cluster else None,
        is_live=is_live,
        can_write=can_write,
        can_stop=can_write and is_live and is_ours and run.desired_status is not DesiredStatus.STOP,
        can_resume=can_write and is_unfinished and is_ours and not is_deleted,
        can_delete=can_write and not is_live and not is_deleted,
        can_share=can_write and not is_deleted,
        promotable=PromotablePlace(f"/checkpoints/{promotable.slug}/promote", promotable.step)
        if promotable
        else None,
        is_settling=is_settling,
        is_deleted=is_deleted,
        failure=_failure(run),
        tabs=[
            Tab(title, f"/runs/{run.slug}{path}", is_current=title == tab) for title, path in _TABS
        ],
        sweep=SweepPlace(run.sweep.slug, run.sweep.name, run.sweep_number or 0)
        if run.sweep
        else None,
    )


def figures(run: Run, step: int | None, counts: SolveCounts, now: datetime) -> list[Figure]:
    """The numbers under the title. Always the same six, so that the page never jumps."""
    total = f"of {run.total_steps:,}" if run.total_steps else ""
    taken = seconds_taken(run, now)
    pace = duration(run.seconds_per_step) if run.seconds_per_step else _UNKNOWN
    return [
        *_rate_figures(counts),
        Figure("Step", number(step), total),
        Figure("A step takes", pace, title="Median"),
        Figure("Duration", _UNKNOWN if taken is None else duration(taken)),
    ]


def maze_grid(
    evaluation: TrainingEvaluation,
    *,
    before: TrainingEvaluation | None = None,
    run_slug: str | None = None,
) -> MazeGrid:
    """`before` is the evaluation before training; `run_slug` the run whose pages the mazes lead to,
    None where they lead nowhere.
    """
    cells = [
        _cell(
            evaluation.env_id,
            item,
            was_solved,
            rollout_url(run_slug, evaluation, number) if run_slug and item.get("kept") else "",
        )
        for number, (item, was_solved) in enumerate(_compared(evaluation, before), start=1)
    ]
    limit = f", at most {evaluation.max_turns} turns" if evaluation.max_turns else ""
    passed = f"pass_at_1 {evaluation.passed_count}/{evaluation.n}"
    return MazeGrid(
        step=evaluation.step,
        rate=rate_figure(evaluation.solved_count, evaluation.n),
        note=f"{evaluation.env_id}{limit} · {passed}",
        cells=cells,
        gained=sum(cell.change == "gained" for cell in cells),
        lost=sum(cell.change == "lost" for cell in cells),
    )


def rollout_url(run_slug: str, evaluation: TrainingEvaluation, number: int) -> str:
    """The page of an episode of a run's own evaluation."""
    place = f"attempts/{evaluation.attempt_number}/evaluations/{evaluation.step}/{number}"
    return f"/runs/{run_slug}/{place}"


def hero_data(run: Run, counts: SolveCounts) -> dict[str, object]:
    """The solve rate with its interval for `charts.js`; a run's config knows its length early."""
    return hero_columns(run, counts) | {"total_steps": planned_steps(run)}


def hero_columns(run: Run, counts: SolveCounts) -> dict[str, object]:
    """As `hero_data`, without a look at the config. Columns are of equal length."""
    rates = [rate_figure(count.solved, count.n) for count in counts]
    return {
        "colour": colour_of(run),
        "total_steps": run.total_steps,
        "step": [count.step for count in counts],
        "solved": [rate.solved for rate in rates],
        "n": [rate.n for rate in rates],
        "attempt": [count.attempt for count in counts],
        "low": [round(rate.low, 4) for rate in rates],
        "high": [round(rate.high, 4) for rate in rates],
        "resumed": [b.step for a, b in pairwise(counts) if b.attempt > a.attempt],
    }


def attempts(run: Run, now: datetime) -> list[AttemptRow]:
    return [
        AttemptRow(
            number=row.number,
            submission_id=row.submission_id,
            status=row.status,
            started_at=row.started_at,
            duration_seconds=((row.ended_at or now) - row.started_at).total_seconds()
            if row.started_at
            else None,
            exit_code=row.exit_code,
        )
        for row in run.attempts
    ]


def timeline(events: Sequence[Event]) -> list[TimelineEvent]:
    return [
        TimelineEvent(
            at=event.at,
            actor=event.actor,
            title=_event_title(event),
            status=event.to_status if event.kind in _STATUS_EVENTS else None,
            message=event.message,
        )
        for event in events
    ]


def hero_spec(run: Run, counts: SolveCounts, series: Sequence[MetricSeries]) -> ChartSpec:
    """The chart on top: the solve rate, or under its own name what a run without one has."""
    keys = [row.key for row in series]
    if counts or not keys:
        return chart_for(HERO_KEY)
    if run.origin is RunOrigin.EXTERNAL:
        return chart_for(next((key for key in _STAND_INS if key in keys), keys[0]))
    stands_in = HERO_KEY not in keys and STAND_IN_KEY in keys
    return chart_for(STAND_IN_KEY if stands_in else HERO_KEY)


def chart_board(
    run: Run, series: Sequence[MetricSeries], *, hero: str, total: int | None = None
) -> ChartBoard:
    """A panel for each key but `hero`, in the groups and order of `metrics.charts`.

    `total`: see `planned_steps`.
    """
    last = {row.key: row.last for row in series if row.key != hero}
    return board([ChartRun.of(run)], last, last=last, live=LiveBy.STREAM, total=total)


def planned_steps(run: Run) -> int | None:
    """How many steps a run takes: as it says itself or, before that, as its config says."""
    planned = run.config.values.get(_STEPS_KEY)
    return run.total_steps or (planned if isinstance(planned, int) else None)


def points(view: SeriesView) -> dict[str, object]:
    """A series as JSON columns. Values that are not finite are null, and told in `odd`."""
    values = view.columns.values
    finite = np.isfinite(values)
    return {
        "key": view.key,
        "attempt": view.attempt,
        "step": view.columns.steps.tolist(),
        "value": [v if ok else None for v, ok in zip(values.tolist(), finite, strict=True)],
        "odd": [
            [step, number(value)]
            for step, value in zip(
                view.columns.steps[~finite].tolist(), values[~finite].tolist(), strict=True
            )
        ],
        "is_new": view.is_new,
        "cursor": view.cursor,
    }


def stop_consequences(run: Run) -> list[str]:
    """What stopping does, before it is done."""
    if run.status is RunStatus.QUEUED:
        return ["It has not started. It leaves the queue and trains nothing."]
    step = f" at step {run.step:,}" if run.step is not None else ""
    return [
        f"It saves a checkpoint{step} and ends; it can be resumed from there.",
        "Its charts, log and config stay.",
    ]


def _rate_figures(counts: SolveCounts) -> list[Figure]:
    if not counts:
        return [Figure(label, _UNKNOWN) for label in ("Best solve rate", "Newest", _FIRST)]
    rows = (
        ("Best solve rate", max(counts, key=solved_share)),
        ("Newest", counts[-1]),
        (_FIRST if counts[0].step == 0 else f"At step {counts[0].step}", counts[0]),
    )
    return [_rate_figure(label, count) for label, count in rows]


def _rate_figure(label: str, count: SolveCount) -> Figure:
    rate = rate_figure(count.solved, count.n)
    return Figure(
        label,
        f"{count.solved}/{count.n}",
        f"{percent(rate.rate)} [{rate.interval}]",
        title=f"At step {count.step}; 95 % Wilson interval {rate.interval} %",
    )


def _failure(run: Run) -> Failure | None:
    found = run.attempts[-1].failure if run.attempts else None
    if found is None and run.status in _FAILED and run.status_reason:
        found = {"class": run.status, "message": run.status_reason}
    if found is None or run.status is RunStatus.SUCCEEDED:
        return None
    evidence = found.get("evidence") or []
    return Failure(
        attempt=None if run.status in ENDED else run.attempts[-1].number,
        kind=str(found.get("class") or RunStatus.FAILED),
        message=str(found.get("message", "")),
        evidence=[str(line) for line in (evidence if isinstance(evidence, list) else [evidence])],
        # Where the run goes on, what would make it go on was done already.
        hint=str(found.get("hint") or "") if run.status in ENDED else "",
    )


def _compared(
    evaluation: TrainingEvaluation, before: TrainingEvaluation | None
) -> list[tuple[dict[str, Any], bool | None]]:
    """Items, each with whether `before` solved the same maze; None where nobody knows."""
    if before is None or before.step >= evaluation.step or _mazes(before) != _mazes(evaluation):
        return [(item, None) for item in evaluation.items]
    pairs = zip(evaluation.items, before.items, strict=True)
    return [(item, bool(was.get("solved"))) for item, was in pairs]


def _mazes(evaluation: TrainingEvaluation) -> tuple[str, list[object]]:
    return evaluation.env_id, [item.get("seed") for item in evaluation.items]


def _cell(env_id: str, item: Mapping[str, Any], was_solved: bool | None, url: str) -> MazeCell:
    seed, solved, turns = item.get("seed"), bool(item.get("solved")), item.get("turns")
    how = "solved" if solved else "not solved"
    within = f" in {turns} turns" if turns is not None else ""
    name = "Maze without a seed" if seed is None else f"Maze {seed}"
    change = "" if was_solved in (None, solved) else "gained" if solved else "lost"
    before = {"gained": ", not solved before training", "lost": ", solved before training"}
    label = f"{name}: {how}{within}{before.get(change, '')}"
    return MazeCell(solved, change, label, _picture(env_id, seed), url)


def _picture(env_id: str, seed: object) -> MazePicture | None:
    if not isinstance(seed, int):
        return None
    try:
        return maze_picture(env_id, seed)
    except ValueError:
        return None


def _event_title(event: Event) -> str:
    if event.reason in _EVENT_TITLES:
        return _EVENT_TITLES[event.reason]
    if event.to_status:
        status = event.to_status.replace("_", " ")
        of_attempt = event.kind == "attempt_status"
        return f"Attempt {event.attempt_number}: {status}" if of_attempt else status.capitalize()
    return (event.reason or event.kind).replace("_", " ").capitalize()
