"""Builds a shared page from rows: only what a stranger may see is taken from them."""

from collections.abc import Sequence
from datetime import datetime

from app.metrics.charts import ChartSpec
from app.metrics.service import SeriesView
from app.models import MetricSeries, Run, RunOrigin, RunStatus, ShareLink, TrainingEvaluation
from app.runs import views as run_views
from app.runs.states import ENDED
from app.sharing.contexts import SharedChart, SharedGroup, SharedPage, ShareRow
from app.web.run_table import SolveCounts, colour_of, rate_figure
from app.web.run_words import ends_at, status_words

_POINT_COLUMNS = ("key", "step", "value", "odd")


def shared_page(
    link: ShareLink,
    run: Run,
    *,
    counts: SolveCounts,
    newest: TrainingEvaluation | None,
    series: Sequence[MetricSeries],
    pushed_step: int | None,
    points_url: str,
    now: datetime,
) -> SharedPage:
    """`run` needs no relations: what they hold is not shown."""
    step = pushed_step if run.step is None else run.step
    hero = run_views.hero_spec(run, counts, series)
    is_drawn_from_dumps = bool(counts) or run.origin is RunOrigin.SUBMITTED
    return SharedPage(
        name=run.name,
        colour=colour_of(run),
        status=run.status,
        words=_words(run, pushed_step),
        ends_at=ends_at(run),
        is_live=run.status not in ENDED,
        expires_at=link.expires_at,
        figures=run_views.figures(run, step, counts, now),
        hero_chart=_chart(hero, None),
        is_solve_rate=is_drawn_from_dumps and hero.is_hero,
        hero=run_views.hero_columns(run, counts),
        hero_rows=[(c.step, rate_figure(c.solved, c.n)) for c in reversed(counts)],
        grid=run_views.maze_grid(newest) if newest else None,
        has_mazes=newest is not None or run.origin is RunOrigin.SUBMITTED,
        groups=[
            SharedGroup(
                group.title,
                [SharedChart(card.key, card.title, card.unit, card.last) for card in group.charts],
            )
            for group in run_views.chart_groups(run, series, hero=hero.key)
        ],
        points_url=points_url,
    )


def points(view: SeriesView) -> dict[str, object]:
    """A series as JSON columns, without its cursor, which names a row of the database."""
    columns = run_views.points(view)
    return {name: columns[name] for name in _POINT_COLUMNS}


def share_row(link: ShareLink) -> ShareRow:
    return ShareRow(
        slug=link.slug,
        created_by=link.created_by,
        created_at=link.created_at,
        expires_at=link.expires_at,
        last_used_at=link.last_used_at,
    )


def _chart(spec: ChartSpec, last: float | None) -> SharedChart:
    return SharedChart(spec.key, spec.title, spec.unit, last)


def _words(run: Run, pushed_step: int | None) -> str:
    if run.status is RunStatus.QUEUED:
        # Why it waits is news of the cluster and of other runs.
        return "Queued"
    return status_words(run, position=None, pushed_step=pushed_step)
