"""Builds what the page of a comparison shows. Reads no database."""

from collections import Counter
from collections.abc import Sequence

from app.clock import utcnow
from app.compare.asked import (
    BY_EXPERIMENT,
    BY_SEED,
    BY_TAG,
    CONFIG,
    NO_GROUPS,
    Asked,
    At,
    letter_of,
)
from app.compare.comparison import Comparison
from app.compare.contexts import (
    Cell,
    Chip,
    Choice,
    ComparePage,
    DifferenceRow,
    Picture,
    Rated,
    ResultRow,
    ViewForm,
)
from app.compare.differences import Difference, comparable, words_of
from app.compare.matrix import matrix_of_runs
from app.compare.measured import ComparedRun, Measured
from app.compare.pictures import Axis, category_axis, number_axis, parallel
from app.metrics.charts import HERO_KEY
from app.metrics.statistics import wilson_interval
from app.models import Run
from app.web.chart_board import ChartBoard, ChartRun, LiveBy, PanelGroup, board
from app.web.filters import number, percent
from app.web.run_table import colour_of, rate_figure
from app.web.run_words import seconds_taken

KEYS_BESIDE = 6
"""Differing config keys that stand beside the results; a table of their own has all."""
CELLS = 12_000
"""Cells in the table of differences: beyond, keys are left out and counted."""
PANELS = 120
_GROUPS = {
    NO_GROUPS: "no groups",
    BY_SEED: "all settings but the seed",
    BY_EXPERIMENT: "experiment",
    BY_TAG: "tag",
}
_CAUTION = (
    "The best of several evaluations is better than its run by luck, too: this p is too small. "
    "Last evaluations make an honest test"
)


def compare_page(asked: Asked, found: Comparison) -> ComparePage:
    chips = chips_of(asked, [each.run for each in found.runs])
    rows = list(zip(found.runs, chips, strict=True))
    beside = found.differing[:KEYS_BESIDE]
    shown = found.differing[: max(1, CELLS // len(found.runs))]
    left = len(found.differing) - len(shown)
    runs = [ChartRun.of(each.run) for each in found.runs]
    charts = board(runs, found.keys[:PANELS], live=LiveBy.POLL)
    return ComparePage(
        chips=chips,
        summary=_summary(found),
        form=_form(asked, found),
        significance=found.significance(),
        caution=_CAUTION if found.at is At.BEST and found.tests else "",
        terms=_terms(found),
        metric=found.metric,
        shows_metric=found.metric != HERO_KEY,
        pass_title=_pass_title(found),
        setting_keys=[row.key for row in beside],
        results=[
            _result(found, place, each, chip, beside) for place, (each, chip) in enumerate(rows)
        ],
        differences=[_difference(row) for row in shown],
        differences_note=f"{left} more keys differ; the API tells them all" if left else "",
        picture=_picture(found),
        matrix=matrix_of_runs(asked, found),
        board=charts,
        hero=charts.groups[0].panels[0] if charts.groups else None,
        groups=_after_the_hero(charts),
        statistics_url=asked.url("/compare/statistics"),
        mazes_url=asked.url("/compare/mazes"),
        report_url=asked.url("/compare/report.html"),
        pick_url=asked.url("/compare/runs"),
    )


def chips_of(asked: Asked, runs: Sequence[Run]) -> list[Chip]:
    """Of runs in the order asked for; they bear letters in it."""
    return [
        Chip(
            letter=letter_of(place),
            id=run.slug,
            name=run.name,
            colour=colour_of(run),
            status=run.status,
            experiment=run.experiment.name,
            without_url=asked.of(_without(asked.runs, run.slug)).url(),
            first_url=asked.of([run.slug, *_without(asked.runs, run.slug)]).url() if place else "",
        )
        for place, run in enumerate(runs)
    ]


def pass_words(measured: Measured) -> list[str]:
    """`43/64 · 67.2 % [55–77]`; where mazes were played several times, unbiased for some k."""
    if measured.most_samples <= 1:
        low, high = wilson_interval(measured.passed, measured.n)
        share = measured.passed / measured.n if measured.n else 0.0
        interval = f"[{low * 100:.0f}–{high * 100:.0f}]"
        return [f"{measured.passed}/{measured.n} · {percent(share)} {interval}"]
    n = f"n = {len(measured.samples)} mazes, {measured.most_samples} or more episodes each"
    found = ((k, measured.pass_at(k)) for k in (1, measured.most_samples))
    return [f"pass_at_{k} {percent(value)} ({n})" for k, value in found if value is not None]


def group_words(by: str) -> str:
    return _GROUPS.get(by) or by.removeprefix(CONFIG)


def text_of(value: float | None) -> str:
    return "" if value is None else number(value)


def _after_the_hero(charts: ChartBoard) -> list[PanelGroup]:
    if not charts.groups:
        return []
    first, *others = charts.groups
    rest = [PanelGroup(first.title, first.panels[1:])] if len(first.panels) > 1 else []
    return [*rest, *others]


def _without(runs: Sequence[str], slug: str) -> list[str]:
    return [each for each in runs if each != slug]


def _summary(found: Comparison) -> str:
    experiments = {each.run.experiment_id: each.run.experiment.name for each in found.runs}
    names = list(experiments.values())
    of = f"of {names[0]}" if len(names) == 1 else f"of {len(names)} experiments"
    differing = len(found.differing)
    keys = "no config key differs" if not differing else f"{differing} config keys differ"
    return f"{len(found.runs)} runs {of}, {'1 config key differs' if differing == 1 else keys}"


def _pass_title(found: Comparison) -> str:
    most = max(
        (each.most_samples for run in found.runs if (each := found.evaluation(run))), default=1
    )
    return "pass_at_1" if most <= 1 else "pass_at_k"


def _terms(found: Comparison) -> str:
    """What was played: said once where it is the same for all."""
    terms = {
        (*each.terms, each.n, each.solvable)
        for run in found.runs
        if (each := found.evaluation(run)) is not None
    }
    if len(terms) != 1:
        return "Evaluations differ in environment, mazes or turn limit" if terms else ""
    env_id, max_turns, n, solvable = terms.pop()
    limit = f", at most {max_turns} turns" if max_turns else ""
    can = f"; {solvable} of them can be solved within that" if solvable is not None else ""
    return f"{env_id}: {n} episodes{limit}{can}"


def _form(asked: Asked, found: Comparison) -> ViewForm:
    by = found.grouped_by
    configs = [row.key for row in found.differing if row.is_axis]
    # A key that is different in each run makes no groups.
    shared = [
        row.key
        for row in found.differing
        if len(set(map(comparable, row.values))) < len(row.values)
    ]
    groups = [*_GROUPS.items(), *((CONFIG + key, key) for key in shared)]
    known = {name for name, _ in groups}
    groups += [(by, group_words(by))] if by not in known else []
    return ViewForm(
        kept=[("run", run) for run in asked.runs],
        metric=found.metric,
        metrics=found.keys,
        at=[Choice(at, f"{at} evaluation and value", at is found.at) for at in At],
        groups=[Choice(name, label, name == by) for name, label in groups],
        configs=[Choice(key, key, key == asked.config) for key in configs],
    )


def _result(
    found: Comparison, place: int, each: ComparedRun, chip: Chip, beside: Sequence[Difference]
) -> ResultRow:
    summary = each.summaries.get(found.metric)
    evaluation = found.evaluation(each)
    return ResultRow(
        chip=chip,
        last=_rated(each.last),
        best=_rated(each.best),
        pass_at=pass_words(evaluation) if evaluation else [],
        against=found.against[place - 1].short_words(found.tests) if place else "",
        metric_last=text_of(summary.last) if summary else "",
        metric_best=text_of(summary.best) if summary else "",
        best_step=text_of(summary.best_step) if summary else "",
        gpu_hours="" if each.gpu_seconds is None else number(round(each.gpu_seconds / 3600, 2)),
        seconds=seconds_taken(each.run, utcnow()),
        settings=[words_of(row.values[place]) for row in beside],
    )


def _rated(measured: Measured | None) -> Rated | None:
    if measured is None or not measured.n:
        return None
    return Rated(rate_figure(measured.solved, measured.n), measured.step)


def _difference(row: Difference) -> DifferenceRow:
    counts = Counter(comparable(value) for value in row.values)
    common, most = counts.most_common(1)[0]
    is_told = most > 1
    cells = [Cell(words_of(value), is_told and comparable(value) == common) for value in row.values]
    return DifferenceRow(row.key, cells)


def axis_of(row: Difference) -> Axis:
    title = row.key
    return number_axis(title, row.numbers) if row.is_numeric else category_axis(title, row.values)


def _picture(found: Comparison) -> Picture | None:
    """None where nothing differs that could be an axis, or no run has the metric."""
    values = found.values()
    rows = [row for row in found.differing if row.is_axis]
    # Seeds say nothing by their size: they stay in the tables.
    rows = [row for row in rows if not row.is_seed]
    if not rows or all(value is None for value in values):
        return None
    axes = [*map(axis_of, rows), number_axis(found.metric, values, log=False)]
    drawn = parallel(axes)
    used = {line.axis.title for line in drawn.axes[:-1]}
    shown = [row for row in rows if row.key in used]
    return Picture(
        parallel=drawn,
        heads=[line.axis.title for line in drawn.axes],
        values=[
            [*(words_of(row.values[place]) for row in shown), text_of(value)]
            for place, value in enumerate(values)
        ],
        left_out=len(found.differing) - len(shown),
    )
