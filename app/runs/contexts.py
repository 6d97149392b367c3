"""What the pages about runs are given: each field is read by a template of `templates/runs/`."""

from dataclasses import dataclass
from datetime import datetime

from app.web.chart_board import ChartBoard, ChartPanel
from app.web.cluster_line import ClusterLine
from app.web.config_table import ConfigChange, ConfigGroup
from app.web.paging import Pager
from app.web.run_table import Condition, RateFigure
from app.web.svg import MazePicture


@dataclass(frozen=True, slots=True)
class Tab:
    """One of several pages about the same run, as a link."""

    title: str
    url: str
    is_current: bool


@dataclass(frozen=True, slots=True)
class StartPage:
    """Nothing was launched yet."""

    cluster: ClusterLine | None


@dataclass(frozen=True, slots=True)
class Failure:
    """Why the newest attempt failed. `evidence` are log lines that prove it."""

    attempt: int | None
    """Its number where the run itself goes on, else None."""
    kind: str
    message: str
    evidence: list[str]
    hint: str


@dataclass(frozen=True, slots=True)
class SweepPlace:
    """The sweep that made a run, and the run's number in it, from 1."""

    slug: str
    name: str
    number: int


@dataclass(frozen=True, slots=True)
class PromotablePlace:
    """An adapter that a run has saved, where it can be promoted from."""

    url: str
    step: int


@dataclass(frozen=True, slots=True)
class RunHead:
    """The top of each page about one run."""

    slug: str
    name: str
    colour: int
    experiment_slug: str
    experiment_name: str
    project_slug: str
    project_name: str
    status: str
    words: str
    """The status line, such as `Running step 84 of 200 · 0.3 s a step`."""
    step: int | None
    """The last that it reached; of a run fed from outside, the newest that was pushed."""
    ends_at: datetime | None
    """When it ends at the present pace; shown as a time of day."""
    conditions: tuple[Condition, ...]
    cluster: ClusterLine | None
    is_live: bool
    can_write: bool
    can_stop: bool
    can_resume: bool
    can_delete: bool
    can_share: bool
    promotable: PromotablePlace | None
    """Its best adapter once it has ended, if the viewer may promote it; None after one was."""
    is_settling: bool
    """Whether it ended so lately that what it saved last may still be looked at."""
    is_deleted: bool
    failure: Failure | None
    tabs: list[Tab]
    sweep: SweepPlace | None


@dataclass(frozen=True, slots=True)
class Figure:
    """One number under the title. `detail` is smaller beside it, `title` its tooltip."""

    label: str
    value: str
    detail: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class MazeCell:
    """One maze of an evaluation; `label` says in words what its look says."""

    solved: bool
    change: str
    """Against the evaluation before training: `gained`, `lost`, or empty."""
    label: str
    picture: MazePicture | None
    """None where the maze cannot be drawn: an environment of others, or no seed."""
    url: str = ""
    """Where it can be looked through turn by turn; empty where that was not kept."""


@dataclass(frozen=True, slots=True)
class MazeGrid:
    """The newest evaluation. `note` names eval set and turn limit.

    `gained` and `lost` count mazes against the evaluation before training.
    """

    step: int
    rate: RateFigure
    note: str
    cells: list[MazeCell]
    gained: int
    lost: int


@dataclass(frozen=True, slots=True)
class ChartsPage:
    """The run page's first tab."""

    head: RunHead
    figures: list[Figure]
    hero_chart: ChartPanel
    is_solve_rate: bool
    """Whether the hero is drawn from evaluations; else it is a line of what comes nearest."""
    is_pass_at_1: bool
    """Whether that line needs the word that pass_at_1 is no solve rate."""
    hero: dict[str, object]
    """The solve rate as `charts.js` draws it."""
    hero_rows: list[tuple[int, RateFigure]]
    """The hero's numbers as a table, newest first."""
    grid: MazeGrid | None
    has_mazes: bool
    """Whether it dumps its evaluations, or may yet: a run fed from outside seldom does."""
    board: ChartBoard
    """All metrics but the hero's."""


@dataclass(frozen=True, slots=True)
class StatusPart:
    """The live part at the top: status line, figures, actions."""

    head: RunHead
    figures: list[Figure]


@dataclass(frozen=True, slots=True)
class ChartsPart:
    """The cards of all charts, fetched again when a new metric appears."""

    head: RunHead
    board: ChartBoard


@dataclass(frozen=True, slots=True)
class MazesPart:
    """The newest evaluation alone, fetched again when there is one."""

    head: RunHead
    grid: MazeGrid | None


@dataclass(frozen=True, slots=True)
class ChartPage:
    """One chart with the table of its numbers: its permanent link."""

    head: RunHead
    panel: ChartPanel
    board: ChartBoard
    rows: list[tuple[int, float]]
    """(step, value), newest first."""
    sampled: bool
    """Whether points were left out to fit the picture."""
    csv_url: str
    """All of them."""


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line; its text is escaped where it is shown."""

    number: int
    pieces: list[tuple[str, str]]
    """(class names, text) of each stretch of one style."""
    is_step: bool
    """Whether a training step begins here; marked in the gutter."""
    url: str
    """Where its number leads: to itself, or to its place in the whole log."""


@dataclass(frozen=True, slots=True)
class LogPage:
    """A stretch of a log. An empty URL means: nothing there to go to."""

    head: RunHead
    query: str
    """The words searched for; then `lines` are those that hold them, and `newer_url` goes on."""
    attempt: int | None
    log_url: str
    lines: list[LogLine]
    total_lines: int
    attempts: list[Tab]
    older_url: str
    newer_url: str
    whole_url: str
    """The log as it was written, as a file."""
    stream_url: str
    """New lines as server-sent events; empty when none can come or an older part is shown."""


@dataclass(frozen=True, slots=True)
class ConfigPage:
    """The frozen settings of a run."""

    head: RunHead
    recipe: str
    digest: str
    groups: list[ConfigGroup]
    changes: list[ConfigChange]
    """What is not the recipe's."""
    files: list[tuple[str, str]]
    """Names and texts of the job's own files; none for a run that others execute."""
    submit_command: str
    package_url: str


@dataclass(frozen=True, slots=True)
class TimelineEvent:
    """Something that happened to a run, in words."""

    at: datetime
    actor: str
    title: str
    status: str | None
    """The status entered, for the icon; None for other events."""
    message: str


@dataclass(frozen=True, slots=True)
class AttemptRow:
    """One Ray job of the run."""

    number: int
    submission_id: str
    status: str
    started_at: datetime | None
    duration_seconds: float | None
    exit_code: int | None


@dataclass(frozen=True, slots=True)
class TimelinePage:
    """Attempts, and events with the newest first."""

    head: RunHead
    attempts: list[AttemptRow]
    events: list[TimelineEvent]
    pager: Pager


@dataclass(frozen=True, slots=True)
class ConfirmPage:
    """Asks once before a run is stopped or deleted."""

    head: RunHead
    verb: str
    """`Stop` or `Delete`; the button says it of the run."""
    keep: str
    """What the link says that leaves all as it is."""
    icon: str
    action_url: str
    consequences: list[str]
