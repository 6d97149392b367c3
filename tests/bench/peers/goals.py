"""What was measured beside what is promised: one line a goal, with the peers' figures. Pure.

A figure of several measurements is their median; `n` says of how many of ours. The ratio compares
with the best peer measured in the same run, since absolute figures are another machine's on another
day.
"""

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Row = Mapping[str, Any]
OURS = "skydeck"
_HEAD = ("work", "goal", OURS, "n")
_KIB = 1024
# Nothing was promised; the peers are the measure.
_ANY = float("inf")


@dataclass(frozen=True, slots=True)
class Goal:
    """`where` are the fields of the rows that count, and `figure` reads one.

    `at_least`: more is better.
    """

    work: str
    limit: float
    where: Mapping[str, object]
    figure: Callable[[Row], float]
    at_least: bool = False

    def is_held(self, value: float) -> bool:
        return value >= self.limit if self.at_least else value <= self.limit


def _goals() -> Iterable[Goal]:
    cpu, bytes_sent = _field("server_cpu_ms"), _field("wire_bytes")
    for case, api, least in (("quarter", "batch", 500_000), ("short", "normal", 30_000)):
        work, where = f"ingest {case}:{api}, points per CPU s", _at("ingest", case=case, api=api)
        yield Goal(work, least, where, _points_per_cpu_second, at_least=True)
    yield Goal("disk, bytes per point", 10, _at("load", case="large"), _field("bytes_per_point"))
    yield Goal("disk, bytes per run", 3_000, _at("load", case="many"), _field("bytes_per_run"))
    for case, count, most in (("many", "5,000", 20), ("crowd", "100,000", 40)):
        for op in ("newest", "filtered_by_param", "sorted_by_metric"):
            work = f"{count} runs, page of 100, {op.replace('_', ' ')}"
            where = _at("read", case=case, op=f"list_page_{op}")
            yield Goal(f"{work}, CPU ms", most, where, cpu)
            yield Goal(f"{work}, KiB", 25, where, _kib)
    chart = _at("read", case="wide", op="chart_100_sampled")
    yield Goal("chart 100 × 1,000 steps, CPU ms", 120, chart, cpu)
    yield Goal("chart 100 × 1,000 steps, KiB", 300, chart, _kib)
    chart = _at("read", case="large", op="chart_100_sampled")
    yield Goal("chart 100 × 2,000 of 2 M points, CPU ms", 150, chart, cpu)
    poll = _at("read", case="large", op="chart_100_poll_nothing_new")
    yield Goal("poll with nothing new, CPU ms", 3, poll, cpu)
    yield Goal("poll with nothing new, bytes", 300, poll, bytes_sent)
    yield Goal("start to first answer, s", 2, _at("server", case="empty"), _field("start_s"))
    yield Goal("web idle, RSS MiB", 130, _at("server", case="empty"), _field("rss_mib"))
    crowd = _at("concurrent", writers=4)
    yield Goal("four writers at once, failed", 0, crowd, _field("failed"))
    yield Goal("four writers, slowest writer, s", _ANY, crowd, _field("slowest_s"))
    yield Goal("four writers, longest request, s", 1, _at("waits"), _field("longest_s"))


def table(rows: Sequence[Row]) -> tuple[list[str], list[str]]:
    """Markdown lines of every goal that was measured, and the names of those that were missed."""
    rows = [row for row in rows if "error" not in row]
    peers = sorted({str(row["tool"]) for row in rows} - {OURS})
    head = [*_HEAD, *peers, "beside the best peer", "held"]
    lines, missed = [_line(head), "|" + " --- |" * len(head)], []
    for goal in _goals():
        found = {tool: _figures(rows, goal, tool) for tool in (OURS, *peers)}
        if not found[OURS]:
            continue
        count = sum(int(row.get("repeats", 1)) for row in _of(rows, goal, OURS))
        ours = statistics.median(found[OURS])
        is_held = goal.is_held(ours)
        if not is_held:
            missed.append(goal.work)
        others = [statistics.median(found[peer]) if found[peer] else None for peer in peers]
        lines.append(
            _line(
                [
                    goal.work,
                    _limit(goal),
                    _short(ours),
                    str(count),
                    *(_short(other) for other in others),
                    _ratio(goal, ours, [other for other in others if other is not None]),
                    "yes" if is_held else "**missed**",
                ]
            )
        )
    return lines, missed


def failures(rows: Sequence[Row]) -> list[str]:
    """What a tool could not do at all, one line each."""
    return [
        f"- {row['tool']}, {row['phase']} {row.get('case', '')} {row.get('op', '')}: "
        f"{str(row['error'])[:200]}".replace("\n", " ")
        for row in rows
        if "error" in row
    ]


def _at(phase: str, **fields: object) -> dict[str, object]:
    return {"phase": phase, **fields}


def _field(name: str) -> Callable[[Row], float]:
    return lambda row: float(row[name])


def _kib(row: Row) -> float:
    return float(row["wire_bytes"]) / _KIB


def _points_per_cpu_second(row: Row) -> float:
    # A tool without a server of its own has no second half.
    seconds = float(row["client_cpu_s"]) + float(row.get("server_cpu_s", 0))
    return float(row["points"]) / seconds


def _figures(rows: Sequence[Row], goal: Goal, tool: str) -> list[float]:
    return [goal.figure(row) for row in _of(rows, goal, tool)]


def _of(rows: Sequence[Row], goal: Goal, tool: str) -> list[Row]:
    wanted = {**goal.where, "tool": tool}
    return [row for row in rows if all(row.get(name) == want for name, want in wanted.items())]


def _limit(goal: Goal) -> str:
    if goal.limit == _ANY:
        return "none"
    return f"{'≥' if goal.at_least else '≤'} {goal.limit:,.0f}"


def _ratio(goal: Goal, ours: float, others: Sequence[float]) -> str:
    """How many times better than the best of them; "0.5×" is half as good."""
    if not others:
        return "no peer measured"
    best = max(others) if goal.at_least else min(others)
    above, below = (ours, best) if goal.at_least else (best, ours)
    return f"{above / below:,.1f}×" if below else "equal" if above == below else "none needed"


def _short(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:,.3g}"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
