"""What the pages about evaluations are given."""

from dataclasses import dataclass
from datetime import datetime

from app.web.forms import FormField
from app.web.paging import Pager
from app.web.run_table import Condition, RateFigure
from app.web.svg import MazePicture


@dataclass(frozen=True, slots=True)
class ModelLine:
    """A model of an evaluation in a list: its rate so far, None before the first episode."""

    title: str
    rate: RateFigure | None


@dataclass(frozen=True, slots=True)
class EvaluationRow:
    """An evaluation in one line. `project` is empty where all rows are of the same one."""

    slug: str
    name: str
    project: str
    eval_set: str
    status: str
    played: int
    total: int
    is_live: bool
    models: list[ModelLine]
    owner: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class EvaluationsPage:
    """The evaluations, newest first."""

    rows: list[EvaluationRow]
    pager: Pager
    live_url: str
    can_write: bool


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A model to tick. `value` names endpoint and model."""

    id: str
    value: str
    label: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class ModelChoices:
    """The models of an endpoint."""

    title: str
    options: list[ModelChoice]


@dataclass(frozen=True, slots=True)
class NewEvaluationPage:
    """The form of an evaluation. `problems` are (control id or empty, sentence)."""

    groups: list[ModelChoices]
    models_problem: str
    fields: list[FormField]
    problems: list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class EvalSetRow:
    """`project` is empty for a built-in set."""

    name: str
    environment: str
    seeds: str
    count: int
    max_turns: int
    dialect: str
    solvable: int
    project: str
    owner: str
    new_url: str


@dataclass(frozen=True, slots=True)
class EvalSetsPage:
    """The eval sets and the form that adds one; no fields for whoever may not."""

    rows: list[EvalSetRow]
    pager: Pager
    fields: list[FormField]
    problems: list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class ResultRow:
    """A row of the before/after table. `change` compares it with the first model in short."""

    letter: str
    title: str
    endpoint: str
    rate: RateFigure | None
    pass_at_1: str
    mean_turns: str
    errors: int
    change: str


@dataclass(frozen=True, slots=True)
class Chip:
    """A choice of how mazes are listed."""

    title: str
    url: str
    is_current: bool


@dataclass(frozen=True, slots=True)
class Cell:
    """A maze of the grid. `kind` is its look, `label` says the same; `url` opens the episode."""

    kind: str
    label: str
    mark: str
    url: str
    picture: MazePicture | None


@dataclass(frozen=True, slots=True)
class Key:
    """What a look of a cell means, and how many cells have it."""

    kind: str
    words: str
    count: int
    mark: str


@dataclass(frozen=True, slots=True)
class Bar:
    """A count with its share of the largest one, 0 to 100."""

    count: int
    width: float


@dataclass(frozen=True, slots=True)
class BarRow:
    """One model's bars, in the order of the legend."""

    title: str
    bars: list[Bar]


@dataclass(frozen=True, slots=True)
class PlayLink:
    """One episode in the table of mazes; `url` is empty where nothing was kept."""

    words: str
    url: str
    is_solved: bool


@dataclass(frozen=True, slots=True)
class MazeRow:
    """A maze with the episodes of each model, by model."""

    seed: int
    plays: list[list[PlayLink]]


@dataclass(frozen=True, slots=True)
class EvaluationPage:
    """An evaluation with all its results."""

    slug: str
    name: str
    project_slug: str
    project_name: str
    status: str
    reason: str
    words: str
    """What is done of what, and how."""
    played: int
    total: int
    owner: str
    created_at: datetime
    set_words: str
    settings_words: str
    conditions: list[Condition]
    results: list[ResultRow]
    published: bool
    """Whether the set is the tutorial's, so that its published figures belong beside these."""
    summary: str
    chips: list[Chip]
    grid_title: str
    cells: list[Cell]
    key: list[Key]
    grid_note: str
    outcomes: list[BarRow]
    turns: list[BarRow]
    mazes: list[MazeRow]
    mazes_note: str
    live_url: str
    """Empty once it has ended: nothing will change."""
    can_stop: bool
    can_resume: bool
