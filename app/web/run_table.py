"""Rows of the table of runs, which the pages of several features show."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from app.metrics.service import SolveCount
from app.metrics.statistics import wilson_interval
from app.models import Config, Run
from app.runs.queue import ClusterLoad
from app.runs.shown import ShownRun
from app.runs.states import ENDED
from app.web.run_words import queue_words
from app.web.svg import sparkline

_COLOURS = 10
# Of some 1 kB each.
_ROWS_KEPT = 4_000
_CONDITION_WORDS = {
    "unreachable": "Cluster does not answer",
    "not_submitted": "Not submitted yet",
    "log_lost": "Log lost",
    "metrics_incomplete": "Metrics incomplete",
}

SolveCounts = Sequence[SolveCount]
"""The evaluations of a run by step."""


@dataclass(frozen=True, slots=True)
class RateFigure:
    """A solve rate with its sample. `interval` is the 95 % Wilson interval in whole per cent."""

    solved: int
    n: int
    rate: float
    low: float
    high: float

    @property
    def interval(self) -> str:
        return f"{self.low * 100:.0f}–{self.high * 100:.0f}"


@dataclass(frozen=True, slots=True)
class Condition:
    """Something said beside a status (docs/statuses.md lists the kinds), since when and why."""

    kind: str
    since: datetime | None
    message: str

    @property
    def words(self) -> str:
        """What a badge says; `since` follows it."""
        return _CONDITION_WORDS.get(self.kind) or self.kind.replace("_", " ").capitalize()


@dataclass(frozen=True, slots=True)
class RunRow:
    """A row of the runs table. Read from the run and its summaries, never from points."""

    slug: str
    name: str
    colour: int
    """0 to 9, from the run's id, the same everywhere."""
    experiment_name: str
    project_name: str
    """Empty where all rows are of the same project."""
    status: str
    reason: str
    """Why it has that status, or where it stands in the queue; may be empty."""
    conditions: tuple[Condition, ...]
    best: RateFigure | None
    spark: str
    """Points of an SVG polyline through the solve rates, 72 x 20; may be empty."""
    step: int | None
    total_steps: int | None
    cluster_name: str
    owner: str
    tags: tuple[str, ...]
    is_pinned: bool
    started_at: datetime | None
    ended_at: datetime | None
    """From these two comes the duration, when it is rendered: nothing here grows with the time."""
    is_live: bool
    version: str
    """The config version, such as `v2`; empty where that is not told."""

    def __hash__(self) -> int:
        # Enough to tell rows apart: each is looked up at every look at the table.
        return hash((self.slug, self.status, self.step))

    def seconds_taken(self, now: datetime) -> float | None:
        """From its start to its end, or until now; None before it starts."""
        if self.started_at is None:
            return None
        return max(0.0, ((self.ended_at or now) - self.started_at).total_seconds())


@lru_cache(maxsize=_ROWS_KEPT)
def shown_row(run: ShownRun, counts: tuple[SolveCount, ...], project_name: str) -> RunRow:
    """The row of a run that waits in no queue; the same object while nothing of it changed."""
    return run_row(
        run, counts, ClusterLoad(), pushed_step=run.pushed_step, project_name=project_name
    )


def run_row(
    run: Run | ShownRun,
    counts: SolveCounts,
    load: ClusterLoad,
    *,
    pushed_step: int | None = None,
    project_name: str = "",
    shows_version: bool = False,
) -> RunRow:
    """`pushed_step` is the newest step of a run that is fed from outside."""
    return RunRow(
        slug=run.slug,
        name=run.name,
        colour=colour_of(run),
        experiment_name=run.experiment.name,
        project_name=project_name,
        status=run.status,
        reason=_reason(run, load),
        conditions=conditions(run),
        best=_best_rate(counts),
        spark=sparkline([solved_share(count) for count in counts]) if len(counts) > 1 else "",
        step=run.step if pushed_step is None else pushed_step,
        total_steps=run.total_steps,
        cluster_name=run.cluster.name if run.cluster else "",
        owner=run.owner,
        tags=tuple(run.tags),
        is_pinned=run.pinned_at is not None,
        started_at=run.started_at,
        ended_at=run.ended_at,
        is_live=run.status not in ENDED,
        version=version_words(run.config) if isinstance(run, Run) and shows_version else "",
    )


def version_words(config: Config) -> str:
    """`v2`, `v2 + overrides`; empty for a config that was no version of anything."""
    if config.version is not None:
        return f"v{config.version}"
    return "" if config.base_version is None else f"v{config.base_version} + overrides"


def colour_of(run: Run | ShownRun) -> int:
    """0 to 9, the same for a run on every page."""
    return run.id.int % _COLOURS


def rate_figure(solved: int, n: int) -> RateFigure:
    low, high = wilson_interval(solved, n)
    return RateFigure(solved, n, solved / n if n else 0.0, low, high)


def solved_share(count: SolveCount) -> float:
    return count.solved / count.n if count.n else 0.0


def conditions(run: Run | ShownRun) -> tuple[Condition, ...]:
    return tuple(
        Condition(
            kind=str(item.get("kind", "")),
            since=_time(item.get("since")),
            message=str(item.get("message", "")),
        )
        for item in run.conditions
    )


def _best_rate(counts: SolveCounts) -> RateFigure | None:
    """The evaluation with the largest solve rate; the first of equals."""
    if not counts:
        return None
    best = max(counts, key=solved_share)
    return rate_figure(best.solved, best.n)


def _reason(run: Run | ShownRun, load: ClusterLoad) -> str:
    position = load.position(run.id)
    limit = load.held.get(run.id)
    if position is not None or limit is not None:
        return queue_words(run, position=position, sweep_limit=limit)
    return run.status_reason if run.status in ENDED else ""


def _time(value: object) -> datetime | None:
    if isinstance(value, datetime):
        return value
    try:
        return datetime.fromisoformat(str(value)) if value else None
    except ValueError:
        return None
