"""What the pages of a comparison are given."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.compare.mean_picture import Bands
from app.compare.pictures import Parallel, Scatter
from app.web.chart_board import ChartBoard, ChartPanel, PanelGroup
from app.web.run_table import RateFigure


@dataclass(frozen=True, slots=True)
class Chip:
    """A run of the comparison. `first_url` compares the others with it; empty where they are."""

    letter: str
    id: str
    name: str
    colour: int
    status: str
    experiment: str
    without_url: str
    first_url: str


@dataclass(frozen=True, slots=True)
class Choice:
    """An option of a select."""

    value: str
    label: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class ViewForm:
    """What can be chosen about the comparison; `kept` are fields that stay as they are."""

    kept: Sequence[tuple[str, str]]
    metric: str
    metrics: Sequence[str]
    at: Sequence[Choice]
    groups: Sequence[Choice]
    configs: Sequence[Choice]


@dataclass(frozen=True, slots=True)
class Rated:
    """A solve rate at a step."""

    figure: RateFigure
    step: int


@dataclass(frozen=True, slots=True)
class ResultRow:
    """A run's results beside what is set otherwise in it. Text that is empty is unknown."""

    chip: Chip
    last: Rated | None
    best: Rated | None
    pass_at: Sequence[str]
    """`43/64 · 67.2 % [55–77]`; with k and n where mazes were played several times."""
    against: str
    metric_last: str
    metric_best: str
    best_step: str
    gpu_hours: str
    seconds: float | None
    settings: Sequence[str]


@dataclass(frozen=True, slots=True)
class Cell:
    """A value of a config; `is_common`: the value that most of the runs have."""

    text: str
    is_common: bool


@dataclass(frozen=True, slots=True)
class DifferenceRow:
    """A config key with its value in each run."""

    key: str
    cells: Sequence[Cell]


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """One evaluation as a row of squares: SVG paths of those solved and not, in columns."""

    title: str
    letter: str
    colour: int
    id: str
    step: int
    url: str
    figure: RateFigure
    solved: str
    unsolved: str


@dataclass(frozen=True, slots=True)
class MazeLine:
    """A maze in words: who solved it, of how many that played it."""

    seed: int
    solved: int
    played: int
    letters: str


@dataclass(frozen=True, slots=True)
class Matrix:
    """Evaluations by mazes; the columns are `mazes`, those that most solved first."""

    note: str
    rows: Sequence[MatrixRow]
    mazes: Sequence[MazeLine]
    apart: Sequence[str]
    """What is not shown and why."""


@dataclass(frozen=True, slots=True)
class Picture:
    """Parallel coordinates; `values` are what each run has on each axis, for the table."""

    parallel: Parallel
    heads: Sequence[str]
    values: Sequence[Sequence[str]]
    left_out: int
    """Config keys that differ and have no axis."""


@dataclass(frozen=True, slots=True)
class Found:
    """A run that can be added, as the search found it."""

    id: str
    name: str
    experiment: str
    status: str
    colour: int
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class PickPage:
    """No comparison yet: runs are chosen here."""

    words: str
    chosen: Sequence[Found]
    found: Sequence[Found]
    kept: Sequence[tuple[str, str]]
    problem: str
    back_url: str
    """The comparison that they are added to; empty where there is none."""


@dataclass(frozen=True, slots=True)
class ComparePage:
    """Runs beside each other."""

    chips: Sequence[Chip]
    summary: str
    form: ViewForm
    significance: str
    caution: str
    """What to bear in mind with that sentence; may be empty."""
    terms: str
    """Environment, mazes and turn limit of the evaluations."""
    metric: str
    shows_metric: bool
    pass_title: str
    setting_keys: Sequence[str]
    results: Sequence[ResultRow]
    differences: Sequence[DifferenceRow]
    differences_note: str
    picture: Picture | None
    matrix: Matrix | None
    board: ChartBoard
    hero: ChartPanel | None
    """The first panel, large and above the results; `groups` hold the others."""
    groups: Sequence[PanelGroup]
    statistics_url: str
    mazes_url: str
    report_url: str
    pick_url: str


@dataclass(frozen=True, slots=True)
class GroupLine:
    """A group of runs. `spread` is mean ± deviation, `interval` that of the mean."""

    label: str
    letters: str
    n: int
    spread: str
    interval: str
    rates: str
    """Mean ± deviation of the solve rates of its runs."""


@dataclass(frozen=True, slots=True)
class ReturnLine:
    """The mean return of a run's evaluation with its bootstrap interval.

    `difference` is that to the first run, maze by maze.
    """

    chip: Chip
    mean: str
    n: int
    interval: str
    difference: str


@dataclass(frozen=True, slots=True)
class RankLine:
    """The rank correlation of a config key with the metric."""

    key: str
    url: str
    is_shown: bool
    rho: str
    p_value: str
    n: int


@dataclass(frozen=True, slots=True)
class StatisticsPage:
    """What takes longer: groups, returns, correlations and the scatter."""

    chips: Sequence[Chip]
    metric: str
    at: str
    grouped_by: str
    shows_rates: bool
    """Whether groups have solve rates besides the metric, which else is that."""
    groups: Sequence[GroupLine]
    means: Bands | None
    """Their means by step; None where no group has two runs."""
    returns: Sequence[ReturnLine]
    ranks: Sequence[RankLine]
    ranks_note: str
    scatter: Scatter | None
    scatter_words: str
    back_url: str


@dataclass(frozen=True, slots=True)
class MazesPage:
    """Which mazes were solved, checkpoint by checkpoint."""

    chips: Sequence[Chip]
    matrix: Matrix | None
    back_url: str
