"""Builds a shared page from rows: only what a stranger may see is taken from them."""

from collections.abc import Sequence
from datetime import datetime

from app.episodes import service as episodes
from app.episodes.words import environment_words
from app.metrics.charts import ChartSpec
from app.metrics.service import SeriesView
from app.models import (
    Episode,
    MetricSeries,
    Run,
    RunOrigin,
    RunStatus,
    ShareLink,
    TrainingEvaluation,
)
from app.playground import views as playground
from app.playground.stage import Viewing, stage
from app.runs import views as run_views
from app.runs.states import ENDED
from app.sharing.contexts import (
    SharedChart,
    SharedEpisodePage,
    SharedGroup,
    SharedPage,
    SharePage,
    ShareRow,
)
from app.sharing.repository import Shareable
from app.web.forms import FormField
from app.web.run_table import SolveCounts, colour_of, rate_figure
from app.web.run_words import ends_at, status_words

_RUN_PROMISE = (
    "Anybody with a link sees this run's name, status, charts and evaluations, without signing in. "
    "They see nothing else: no log, no config, no names of people, projects or clusters."
)
_EPISODE_PROMISE = (
    "Anybody with a link sees this maze, the names of its models and all their turns, without "
    "signing in, and may look through them. They see nothing else and can change nothing: no names "
    "of people, projects or endpoints."
)
_POINT_COLUMNS = ("key", "step", "value", "odd")


def shared_page(
    link: ShareLink,
    run: Run,
    *,
    counts: SolveCounts,
    newest: TrainingEvaluation | None,
    before: TrainingEvaluation | None,
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
        grid=run_views.maze_grid(newest, before=before) if newest else None,
        has_mazes=newest is not None or run.origin is RunOrigin.SUBMITTED,
        groups=[
            SharedGroup(
                group.title,
                [SharedChart(each.key, each.title, each.unit, each.last) for each in group.panels],
            )
            for group in run_views.chart_board(run, series, hero=hero.key).groups
        ],
        points_url=points_url,
    )


def points(view: SeriesView) -> dict[str, object]:
    """A series as JSON columns, without its cursor, which names a row of the database."""
    columns = run_views.points(view)
    return {name: columns[name] for name in _POINT_COLUMNS}


def shared_episode_page(
    link: ShareLink, episode: Episode, *, url: str, turn: int | None, now: datetime
) -> SharedEpisodePage:
    """Models are named, endpoints are not; what was sent can be rebuilt from what is shown."""
    loaded = episodes.load(episode, now)
    viewing = Viewing(url=url, turn=turn, can_play=False, has_messages=False, has_places=False)
    return SharedEpisodePage(
        title=playground.title_of(episode),
        env_words=environment_words(episode.env_id),
        seed=episode.seed,
        needed_turns=playground.needed_turns(loaded),
        dialect=episode.dialect,
        expires_at=link.expires_at,
        stage=stage(loaded, viewing),
    )


def base_of(shown: Shareable) -> str:
    """The address of the page of what is shared."""
    return f"/runs/{shown.slug}" if isinstance(shown, Run) else f"/playground/{shown.slug}"


def share_page(
    shown: Shareable, links: Sequence[ShareLink], *, fields: list[FormField], url: str
) -> SharePage:
    is_run = isinstance(shown, Run)
    return SharePage(
        kind="run" if is_run else "episode",
        base=base_of(shown),
        list_title="Runs" if is_run else "Playground",
        list_url="/runs" if is_run else "/playground",
        slug=shown.slug,
        name=shown.name if isinstance(shown, Run) else playground.title_of(shown),
        promise=_RUN_PROMISE if is_run else _EPISODE_PROMISE,
        is_deleted=isinstance(shown, Run) and shown.deleted_at is not None,
        fields=fields,
        rows=[share_row(link) for link in links],
        url=url,
    )


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
