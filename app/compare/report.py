"""A comparison as one HTML file that needs nothing else: no server, no network.

Imported only when somebody asks for it: Plotly takes most of a second. The figures are its own, the
script that draws them is the one that the pages use, and the file's own policy runs that script and
one more, by their hashes: whatever a run is called, nothing else runs.
"""

import base64
import hashlib
import html
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import plotly.graph_objects as go
from markupsafe import Markup

from app.clock import utcnow
from app.compare.asked import Asked
from app.compare.comparison import Comparison
from app.compare.contexts import ComparePage, StatisticsPage
from app.compare.curves import MeanCurve
from app.compare.statistics_views import statistics_page
from app.compare.views import compare_page
from app.metrics.charts import chart_for
from app.metrics.service import SeriesView
from app.settings import ROOT
from app.web.filters import exact_time
from app.web.run_table import colour_of
from app.web.templating import ENVIRONMENT

# The run colours of tokens.css on white: a report has one theme, and is printed.
_COLOURS = (
    "#0b6bb3",
    "#c04b00",
    "#007d5b",
    "#a8437f",
    "#806400",
    "#5a4ecb",
    "#a0202e",
    "#24788c",
    "#63666b",
    "#587300",
)
_BOOT = """for (const data of document.querySelectorAll("script[data-figure]")) {
  const figure = JSON.parse(data.textContent);
  const config = { responsive: true, displaylogo: false };
  Plotly.newPlot(data.dataset.figure, figure.data, figure.layout, config);
}"""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A figure: `data` is its JSON, without any sign that could end a script element."""

    id: str
    title: str
    data: str


@dataclass(frozen=True, slots=True)
class ReportPage:
    """The whole file."""

    made_at: str
    policy: str
    styles: Markup
    library: str
    boot: str
    page: ComparePage
    statistics: StatisticsPage
    figures: Sequence[Drawn]


def report(
    asked: Asked, found: Comparison, curves: Sequence[SeriesView], means: Sequence[MeanCurve]
) -> str:
    """`curves` are drawn by key, in their order; `means` are those of the groups.

    Takes a second: call it in a thread.
    """
    library = _library()
    context = ReportPage(
        made_at=exact_time(utcnow()),
        policy=_policy(library, _BOOT),
        styles=_styles(),
        library=library,
        boot=_BOOT,
        page=compare_page(asked, found),
        statistics=statistics_page(asked, found, means),
        figures=_figures(found, curves),
    )
    return ENVIRONMENT.get_template("compare/report.html").render(c=context)


def _figures(found: Comparison, curves: Sequence[SeriesView]) -> list[Drawn]:
    keys = dict.fromkeys(curve.key for curve in curves)
    return [
        Drawn(f"figure-{place}", chart_for(key).title, _figure(found, key, curves))
        for place, key in enumerate(keys)
    ]


def _figure(found: Comparison, key: str, curves: Sequence[SeriesView]) -> str:
    names = {each.run.slug: each for each in found.runs}
    figure = go.Figure(
        layout={
            "template": "none",
            "height": 320,
            "margin": {"l": 64, "r": 16, "t": 16, "b": 48},
            "xaxis": {"title": {"text": "step"}},
            "yaxis": {"title": {"text": html.escape(key)}, "automargin": True},
            "legend": {"itemsizing": "constant"},
            "hovermode": "x unified" if len(names) <= 10 else "closest",
        }
    )
    for curve in curves:
        if curve.key == key:
            each = names[curve.run]
            figure.add_scatter(
                x=curve.columns.steps,
                y=curve.columns.values,
                # Plotly reads names as a little HTML: what looks like some is shown as typed.
                name=html.escape(f"{each.letter} {each.run.name}", quote=False),
                mode="lines",
                line={"color": _COLOURS[colour_of(each.run)], "width": 1.5},
            )
    text: str = figure.to_json()
    return text.replace("<", "\\u003c")


@cache
def _library() -> str:
    return (ROOT / "static/vendor/plotly-cartesian.min.js").read_text()


@cache
def _styles() -> Markup:
    """The pages' own rules, in light colours; they hold no text of anybody."""
    sheets = ("tokens", "base", "components", "compare", "report")
    text = "\n".join((ROOT / f"static/css/{sheet}.css").read_text() for sheet in sheets)
    return Markup(text)  # noqa: S704 - our own files


def _policy(*scripts: str) -> str:
    """What the file may do when it is opened from a disk. `sandbox` has no effect in a file."""
    hashes = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
