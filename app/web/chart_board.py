"""A board of charts as `templates/macros/charts.html` draws it: panels of one or many runs.

Each panel has an address of its own: one run's chart page, or `/charts` for several runs.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import urlencode

from app.metrics.charts import ChartSpec, charts_for
from app.models import Run
from app.runs.states import ENDED
from app.web.run_table import colour_of

SERIES_URL = "/series"
CSV_URL = "/series.csv"
_UNITS = {"share": "", "seconds": "s"}


class LiveBy(StrEnum):
    """How a board learns of new points: it asks every few seconds, or a script feeds it."""

    NOTHING = ""
    POLL = "poll"
    STREAM = "stream"


@dataclass(frozen=True, slots=True)
class ChartRun:
    """A run of a board. `colour` is 0 to 9, by the run's id, until its reader picks another."""

    id: str
    name: str
    colour: int
    is_live: bool

    @classmethod
    def of(cls, run: Run) -> "ChartRun":
        return cls(run.slug, run.name, colour_of(run), run.status not in ENDED)


@dataclass(frozen=True, slots=True)
class ChartPanel:
    """One chart. `last` is the newest value, shown for a board of one run."""

    key: str
    title: str
    unit: str
    """As it is written beside a number; empty for shares, which are written in per cent."""
    axis_unit: str
    """As the metric's specification names it: `share`, `seconds`, …"""
    last: float | None
    url: str
    """The panel alone, with the table of its numbers: its permanent link."""


@dataclass(frozen=True, slots=True)
class PanelGroup:
    """Panels under one heading."""

    title: str
    panels: list[ChartPanel]


@dataclass(frozen=True, slots=True)
class ChartBoard:
    """Panels that share runs, axis, smoothing, crosshair and zoom."""

    runs: Sequence[ChartRun]
    groups: Sequence[PanelGroup]
    live: LiveBy = LiveBy.POLL
    total: int | None = None
    """The steps that the run will take, where that is known: all x axes end there."""
    series_url: str = SERIES_URL

    def config(self, plotly_url: str) -> dict[str, object]:
        """What `static/js/panels.js` reads."""
        return {
            "runs": [
                {"id": run.id, "name": run.name, "colour": run.colour, "live": run.is_live}
                for run in self.runs
            ],
            "series_url": self.series_url,
            "csv_url": CSV_URL,
            "plotly": plotly_url,
            "live": self.live,
            "total": self.total,
        }


def alone_url(runs: Sequence[str], keys: Sequence[str]) -> str:
    """The page that shows these charts of these runs and nothing else."""
    if len(runs) == len(keys) == 1:
        return f"/runs/{runs[0]}/chart?{urlencode({'key': keys[0]})}"
    return f"/charts?{_query(runs, keys)}"


def csv_url(runs: Sequence[str], keys: Sequence[str]) -> str:
    """All points of these metrics of these runs as a file."""
    return f"{CSV_URL}?{_query(runs, keys)}"


def panel(
    runs: Sequence[str], spec: ChartSpec, *, last: float | None = None, url: str = ""
) -> ChartPanel:
    """The chart of a key for runs named by their ids."""
    return ChartPanel(
        key=spec.key,
        title=spec.title,
        unit=_UNITS.get(spec.unit, spec.unit),
        axis_unit=spec.unit,
        last=last,
        url=url or alone_url(runs, [spec.key]),
    )


def board(
    runs: Sequence[ChartRun],
    keys: Iterable[str],
    *,
    last: Mapping[str, float | None] | None = None,
    live: LiveBy = LiveBy.POLL,
    total: int | None = None,
) -> ChartBoard:
    """A board with a panel for each key, in the groups and order of `app.metrics.charts`."""
    ids, known = [run.id for run in runs], last or {}
    groups: dict[str, list[ChartPanel]] = {}
    for spec in charts_for(keys):
        made = panel(ids, spec, last=known.get(spec.key))
        groups.setdefault(spec.group.label, []).append(made)
    return ChartBoard(
        runs=runs,
        groups=[PanelGroup(title, panels) for title, panels in groups.items()],
        live=live,
        total=total,
    )


def _query(runs: Sequence[str], keys: Sequence[str]) -> str:
    return urlencode([*(("run", run) for run in runs), *(("key", key) for key in keys)])
