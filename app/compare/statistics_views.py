"""What takes longer than a page may: groups, returns, rank correlations. Call it in a thread."""

from collections.abc import Sequence
from dataclasses import replace

from app.compare.asked import Asked
from app.compare.comparison import Comparison
from app.compare.contexts import (
    Chip,
    GroupLine,
    RankLine,
    ReturnLine,
    StatisticsPage,
)
from app.compare.curves import MeanCurve
from app.compare.differences import Difference
from app.compare.groups import Group
from app.compare.mean_picture import bands
from app.compare.measured import Measured
from app.compare.pictures import Scatter, number_axis, scatter
from app.compare.views import axis_of, chips_of, group_words, text_of
from app.metrics.charts import HERO_KEY
from app.metrics.statistics import (
    RankCorrelation,
    bootstrap_mean,
    holm,
    mean_interval,
    p_words,
    rank_correlation,
    spread,
)
from app.web.filters import percent

MOST_RANKS = 20
"""Config keys that are correlated with the metric; each takes some 20 ms."""
_ONE = "one value"


def statistics_page(asked: Asked, found: Comparison, means: Sequence[MeanCurve]) -> StatisticsPage:
    """`means` are the curves of the groups."""
    chips = chips_of(asked, [each.run for each in found.runs])
    values = found.values()
    rows = [row for row in found.differing if row.is_numeric and not row.is_seed]
    ranked = [(row, each) for row in rows[:MOST_RANKS] if (each := _ranked(row, values))]
    shown = _shown(asked, found, ranked)
    return StatisticsPage(
        chips=chips,
        metric=found.metric,
        at=found.at,
        grouped_by=group_words(found.grouped_by),
        shows_rates=found.metric != HERO_KEY,
        groups=[_group(found, group, values) for group in found.groups],
        means=bands(means),
        returns=_returns(found, chips),
        ranks=_ranks(asked, ranked, shown),
        ranks_note=_left_out(len(rows)),
        scatter=_scatter(found, shown, values) if shown else None,
        scatter_words=_words(shown, ranked, found.metric),
        back_url=asked.url(),
    )


def _ranked(row: Difference, values: Sequence[float | None]) -> RankCorrelation | None:
    pairs = [
        (x, y) for x, y in zip(row.numbers, values, strict=True) if x is not None and y is not None
    ]
    return rank_correlation([x for x, _ in pairs], [y for _, y in pairs])


def _shown(
    asked: Asked, found: Comparison, ranked: Sequence[tuple[Difference, RankCorrelation]]
) -> Difference | None:
    """The key of the scatter: what was asked for, else what goes with the metric most."""
    named = [row for row in found.differing if row.key == asked.config and row.is_axis]
    if named:
        return named[0]
    if ranked:
        return max(ranked, key=lambda pair: abs(pair[1].rho))[0]
    axes = [row for row in found.differing if row.is_axis and not row.is_seed]
    return axes[0] if axes and any(value is not None for value in found.values()) else None


def _group(found: Comparison, group: Group, values: Sequence[float | None]) -> GroupLine:
    members = [found.runs[place] for place in group.members]
    known = [value for place in group.members if (value := values[place]) is not None]
    rates = [
        rate
        for run in members
        if (each := found.evaluation(run)) and (rate := each.solve_rate) is not None
    ]
    return GroupLine(
        label=group.label,
        letters=" ".join(run.letter for run in members),
        n=len(known),
        spread=_spread(known, is_share=found.metric == HERO_KEY),
        interval=_interval(mean_interval(known), is_share=found.metric == HERO_KEY),
        rates=_spread(rates, is_share=True),
    )


def _spread(values: Sequence[float], *, is_share: bool) -> str:
    """`0.91 ± 0.02 (n = 3)`; of one run there is no deviation."""
    each = spread(values)
    if each is None:
        return ""
    write = percent if is_share else text_of
    n = f"n = {each.n} runs" if each.n > 1 else "n = 1 run"
    return (
        f"{write(each.mean)} ({n})"
        if each.deviation is None
        else (f"{write(each.mean)} ± {write(each.deviation)} ({n})")
    )


def _interval(interval: tuple[float, float] | None, *, is_share: bool = False) -> str:
    if interval is None:
        return ""
    if not is_share:
        return f"[{text_of(interval[0])}, {text_of(interval[1])}]"
    # Student knows nothing of shares: of few runs the interval would go beyond all of them.
    low, high = max(0.0, interval[0]), min(1.0, interval[1])
    return f"[{percent(low)}, {percent(high)}]"


def _returns(found: Comparison, chips: Sequence[Chip]) -> list[ReturnLine]:
    first = found.evaluation(found.runs[0])
    return [
        _return(chip, each, None if place == 0 else first)
        for place, (run, chip) in enumerate(zip(found.runs, chips, strict=True))
        if (each := found.evaluation(run)) is not None and each.returns
    ]


def _return(chip: Chip, each: Measured, first: Measured | None) -> ReturnLine:
    mean = sum(each.returns) / len(each.returns)
    return ReturnLine(
        chip=chip,
        mean=text_of(mean),
        n=len(each.returns),
        interval=_interval(bootstrap_mean(each.returns)) or _ONE,
        difference=_difference(each, first) if first else "",
    )


def _difference(each: Measured, first: Measured) -> str:
    """Of the mazes that both played: paired, so that hard mazes do not count as noise."""
    if each.terms != first.terms:
        return "played under other terms"
    mine, theirs = each.return_by_seed, first.return_by_seed
    gains = tuple(reward - theirs[seed] for seed, reward in mine.items() if seed in theirs)
    if not gains:
        return "no maze in common"
    mean = sum(gains) / len(gains)
    sign = "+" if mean > 0 else ""
    interval = _interval(bootstrap_mean(gains)) or _ONE
    return f"{sign}{text_of(mean)} {interval} (n = {len(gains)} mazes)"


def _ranks(
    asked: Asked,
    ranked: Sequence[tuple[Difference, RankCorrelation]],
    shown: Difference | None,
) -> list[RankLine]:
    adjusted = holm([each.p_value for _, each in ranked])
    lines = [
        (
            abs(each.rho),
            RankLine(
                key=row.key,
                url=replace(asked, config=row.key).url("/compare/statistics"),
                is_shown=row is shown,
                rho=f"{each.rho:+.2f}".replace("-", "−"),
                p_value=p_words(each.p_value)
                + (f", {p_words(p)} by Holm" if len(ranked) > 1 else ""),
                n=each.n,
            ),
        )
        for (row, each), p in zip(ranked, adjusted, strict=True)
    ]
    return [line for _, line in sorted(lines, key=lambda pair: -pair[0])]


def _left_out(count: int) -> str:
    return f"The first {MOST_RANKS} of {count} numeric keys" if count > MOST_RANKS else ""


def _scatter(found: Comparison, row: Difference, values: Sequence[float | None]) -> Scatter:
    return scatter(axis_of(row), number_axis(found.metric, values, log=False))


def _words(
    shown: Difference | None, ranked: Sequence[tuple[Difference, RankCorrelation]], metric: str
) -> str:
    if shown is None:
        return ""
    for row, each in ranked:
        if row is shown:
            rho = f"{each.rho:+.2f}".replace("-", "−")
            return (
                f"{metric} against {row.key}: Spearman's rho {rho}, "
                f"{p_words(each.p_value)} by permutation, n = {each.n} runs"
            )
    return f"{metric} against {shown.key}; too few numbers that differ for a rank correlation"
