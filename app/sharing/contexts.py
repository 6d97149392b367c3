"""What the pages about shared runs are given.

A shared page is read by strangers: its context holds what they may see and nothing else, so that
no template can show more.
"""

from dataclasses import dataclass
from datetime import datetime

from app.playground.contexts import Stage
from app.runs.contexts import Figure, MazeGrid
from app.web.forms import FormField
from app.web.run_table import RateFigure


@dataclass(frozen=True, slots=True)
class ShareRow:
    """A link that still works. Its address is not known any more."""

    slug: str
    created_by: str
    created_at: datetime
    expires_at: datetime
    last_used_at: datetime | None


@dataclass(frozen=True, slots=True)
class SharePage:
    """The links of a run or an episode, and the form that makes one.

    `base` is its own page, `promise` what a stranger sees and what not, `url` a link that was just
    made, shown once.
    """

    kind: str
    """`run` or `episode`."""
    base: str
    list_title: str
    list_url: str
    slug: str
    name: str
    promise: str
    is_deleted: bool
    fields: list[FormField]
    rows: list[ShareRow]
    url: str = ""


@dataclass(frozen=True, slots=True)
class SharedEpisodePage:
    """One episode as anybody with the link may see it."""

    title: str
    env_words: str
    seed: int
    needed_turns: int
    dialect: str
    expires_at: datetime
    stage: Stage


@dataclass(frozen=True, slots=True)
class SharedChart:
    """One chart; its numbers are fetched when it is scrolled to."""

    key: str
    title: str
    unit: str
    last: float | None


@dataclass(frozen=True, slots=True)
class SharedGroup:
    """Charts under one heading."""

    title: str
    charts: list[SharedChart]


@dataclass(frozen=True, slots=True)
class SharedPage:
    """One run as anybody with the link may see it."""

    name: str
    colour: int
    status: str
    words: str
    ends_at: datetime | None
    is_live: bool
    expires_at: datetime
    """When the link ends."""
    figures: list[Figure]
    hero_chart: SharedChart
    is_solve_rate: bool
    """Whether the hero is drawn from evaluations; else it is a line of what comes nearest."""
    hero: dict[str, object]
    hero_rows: list[tuple[int, RateFigure]]
    grid: MazeGrid | None
    has_mazes: bool
    groups: list[SharedGroup]
    points_url: str
