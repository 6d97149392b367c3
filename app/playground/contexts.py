"""What the pages of the playground are given. Shared pages show a part of it."""

from dataclasses import dataclass
from datetime import datetime

from app.endpoints.offered import ModelGroup
from app.playground.plain_text import PlainText
from app.playground.trail import Stroke
from app.web.forms import FormField, control_id
from app.web.paging import Pager
from app.web.svg import MazePicture


@dataclass(frozen=True, slots=True)
class TurnCell:
    """A turn in the strip. `picture_url` is what the model got to see."""

    number: int
    url: str
    picture_url: str
    icon: str
    word: str
    effect: str
    """What it did: a value of `Effect`."""
    effect_words: str
    reward: float
    latency_seconds: float | None
    tokens: int | None
    is_persons: bool
    is_shown: bool


@dataclass(frozen=True, slots=True)
class ShownTurn:
    """The turn that is looked at, in full."""

    cell: TurnCell
    answer: PlainText
    feedback: PlainText
    finish_reason: str
    prompt_tokens: int | None
    first_token_seconds: float | None
    messages_url: str
    """Empty where they are not shown."""


@dataclass(frozen=True, slots=True)
class LaneView:
    """A lane at the turn that is looked at, or at its last one before that.

    `x`, `y` are the agent in cells, `cells` all its places (`column,row` by turn), `way` is an SVG
    path of the shortest way on. `moves_left` counts it.
    """

    number: int
    hue: int
    title: str
    place: str
    is_person: bool
    status: str
    icon: str
    words: str
    outcome: str
    is_answering: bool
    """Whether somebody waits for its next answer just now."""
    at: int
    """The turn it is at."""
    x: float
    y: float
    start_x: float
    start_y: float
    cells: str
    strokes: list[Stroke]
    way: str
    moves_left: int
    moves_from_start: int
    description: str
    turns: list[TurnCell]
    shown: ShownTurn | None
    failure: PlainText | None
    is_failure_passing: bool
    can_retry: bool
    can_move: bool

    @property
    def progress(self) -> float:
        """Share of the shortest way that is done; walking away gives 0."""
        if not self.moves_from_start:
            return 1.0
        return max(0.0, 1 - self.moves_left / self.moves_from_start)


@dataclass(frozen=True, slots=True)
class Stage:
    """All that changes while an episode is played or looked through."""

    url: str
    """Address of the page; `?turn=` chooses the turn."""
    stream_url: str
    """What models say while they say it; empty where nobody plays on."""
    board: MazePicture
    lanes: list[LaneView]
    turn: int
    last_turn: int
    max_turns: int
    news: str
    """What happened at this turn, for screen readers."""
    can_play: bool
    """Whether the viewer may ask models or move."""
    next_turn: int | None
    """The turn that models may be asked for, if they may."""
    mover: int | None
    """The lane that arrow keys move, if there is one."""
    movable: list[tuple[int, str]]
    """(number, title) of the lanes in which a person may move."""
    notice: str
    """Why what was asked for was not done."""

    @property
    def is_at_end(self) -> bool:
        return self.turn >= self.last_turn


@dataclass(frozen=True, slots=True)
class BranchLink:
    """An episode that this one came from, or that came from it, at `turn`."""

    slug: str
    turn: int


@dataclass(frozen=True, slots=True)
class EpisodePage:
    """One episode, played or looked through."""

    slug: str
    title: str
    env_words: str
    seed: int
    needed_turns: int
    dialect: str
    origin: str
    owner: str
    created_at: datetime
    stage: Stage
    parent: BranchLink | None
    branches: list[BranchLink]
    can_write: bool
    again_url: str
    """The form of a new episode, filled as this one."""


@dataclass(frozen=True, slots=True)
class RolloutPage:
    """An episode of a training's evaluation. `problem` says where what is shown may be wrong.

    What the run counted need not be what is rebuilt: `is_passed` is a reward above zero.
    """

    run_slug: str
    run_name: str
    attempt: int
    step: int
    number: int
    count: int
    title: str
    env_words: str
    seed: int
    needed_turns: int
    dialect: str
    is_solved: bool
    is_passed: bool
    reward: float | None
    problem: str
    previous_url: str
    next_url: str
    """Empty for the first and the last one."""
    play_url: str
    """The form of a new episode on this maze; empty where the viewer may not make one."""
    is_pair: bool
    """Whether that form has an adapter of the run in it, beside its base."""
    stage: Stage


@dataclass(frozen=True, slots=True)
class MessageView:
    """A message as it was sent. `picture_url` is empty where it has no picture."""

    role: str
    text: PlainText
    picture_url: str


@dataclass(frozen=True, slots=True)
class MessagesPage:
    """What one turn was asked with."""

    slug: str
    title: str
    lane_title: str
    turn: int
    back_url: str
    messages: list[MessageView]
    sampling: list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class LaneLine:
    """A lane in the list of episodes."""

    hue: int
    title: str
    icon: str
    words: str


@dataclass(frozen=True, slots=True)
class EpisodeLine:
    """An episode in the list."""

    slug: str
    title: str
    board: MazePicture
    lanes: list[LaneLine]
    owner: str
    project: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class SetGroup:
    """Eval sets to choose from, as (name, words)."""

    title: str
    options: list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class LaneChoice:
    """Who plays in a lane of the form."""

    name: str
    label: str
    value: str
    problem: str

    @property
    def id(self) -> str:
        return control_id(self.name)


@dataclass(frozen=True, slots=True)
class PlaygroundPage:
    """The form of a new episode, and the newest episodes. `problems` are (field id or "", text)."""

    lanes: list[LaneChoice]
    groups: list[ModelGroup]
    missing: list[str]
    """Models that a link asks for and nobody offers right now."""
    sets: list[SetGroup]
    fields: dict[str, FormField]
    sampling: list[FormField]
    problems: list[tuple[str, str]]
    can_write: bool
    lines: list[EpisodeLine]
    pager: Pager
    is_sampling_open: bool
