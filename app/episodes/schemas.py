"""JSON shapes of episodes, their lanes and turns."""

from collections.abc import Sequence
from datetime import datetime
from itertools import repeat
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StringConstraints

from app.api.schemas import Answer, Body, Line, no_nul
from app.episodes.engine import Failure, TurnRecord
from app.episodes.loaded import LoadedEpisode, LoadedLane
from app.episodes.service import MAX_LANES, MAX_SEED, MAX_TURNS, EpisodeSpec, LaneSpec
from app.episodes.states import Effect, EpisodeOrigin, LaneStatus, Outcome, Source
from app.episodes.turns import MAX_TEXT, TurnRequest
from app.llm.chat import ModelErrorKind, Sampling
from app.maze.generate import Maze
from app.maze.parse import Dialect
from app.maze.solve import shortest_path
from app.models import Episode

PROFILE: Literal["skyrl"] = "skyrl"
_ENV = Annotated[str, StringConstraints(min_length=1, max_length=64), AfterValidator(no_nul)]
_Text = Annotated[str, StringConstraints(max_length=MAX_TEXT), AfterValidator(no_nul)]
_MAX_TOKENS = 1_000_000


class LaneBody(Body):
    """A model of an endpoint; both null: a person plays."""

    endpoint: Line | None = Field(default=None, examples=["embedded"])
    model: Annotated[str, StringConstraints(min_length=1, max_length=300)] | None = Field(
        default=None, examples=["maze-base"]
    )


class SamplingBody(Body):
    """How answers are drawn; by default as SkyRL's evaluations do."""

    temperature: float = Field(default=0.0, ge=0, le=2)
    max_tokens: int = Field(default=1024, ge=1, le=_MAX_TOKENS)
    top_p: float = Field(default=1.0, gt=0, le=1)
    top_k: int = Field(default=-1, ge=-1, lt=2**31)
    min_p: float = Field(default=0.0, ge=0, le=1)
    seed: int | None = Field(default=None, ge=0, lt=2**31)

    def sampling(self) -> Sampling:
        return Sampling(**self.model_dump())


class EpisodeBody(Body):
    project: Line | None = Field(default=None, description="Slug of the project that it goes into")
    lanes: list[LaneBody] = Field(min_length=1, max_length=MAX_LANES)
    env_id: _ENV = Field(default="maze_2d/easy", examples=["maze_2d/easy", "maze_2d/13x9"])
    seed: int = Field(default=0, ge=0, le=MAX_SEED)
    max_turns: int = Field(default=15, ge=1, le=MAX_TURNS)
    dialect: Dialect = Dialect.KEYWORD
    profile: Literal["skyrl"] = Field(default=PROFILE, description="How the conversation is held")
    sampling: SamplingBody = Field(default_factory=SamplingBody)
    max_input_tokens: int | None = Field(
        default=8192, ge=1, le=_MAX_TOKENS, description="SkyRL's max_input_length; null: no limit"
    )

    def spec(self) -> EpisodeSpec:
        return EpisodeSpec(
            lanes=[LaneSpec(each.endpoint, each.model) for each in self.lanes],
            env_id=self.env_id,
            seed=self.seed,
            max_turns=self.max_turns,
            dialect=self.dialect,
            sampling=self.sampling.sampling(),
            max_input_tokens=self.max_input_tokens,
        )


class TurnBody(Body):
    """Empty: the models that are behind are asked for their next turn, so that all stay in step.

    `lane`: that one alone. `action` is a person's move, `text` an answer in a person's words.
    `turn` is the number that is meant: if that turn was taken already, nothing is done.
    """

    lane: int | None = Field(default=None, ge=1, le=MAX_LANES)
    turn: int | None = Field(default=None, ge=1, le=MAX_TURNS)
    action: Line | None = Field(default=None, examples=["right", "stop", "('move', 0)"])
    text: _Text | None = Field(default=None, examples=["<action>up</action>"])

    def request(self) -> TurnRequest:
        return TurnRequest(lane=self.lane, turn=self.turn, action=self.action, text=self.text)


class LaneOnlyBody(Body):
    """`lane` null: all of them."""

    lane: int | None = Field(default=None, ge=1, le=MAX_LANES)


class ForkBody(LaneOnlyBody):
    turn: int = Field(ge=0, le=MAX_TURNS, description="How many turns the new episode begins with")


class MazeAnswer(Answer):
    """`map`: rows of 1 (wall) and 0 (floor); `agent`: the start. Cells are [row, column]."""

    map: list[list[int]]
    agent: tuple[int, int]
    target: tuple[int, int]
    shortest_path: int = Field(description="Moves of the shortest way, without the stop")

    @classmethod
    def of(cls, maze: Maze) -> "MazeAnswer":
        return cls(
            map=maze.map.tolist(),
            agent=maze.start,
            target=maze.target,
            shortest_path=len(shortest_path(maze)),
        )


class UsageAnswer(Answer):
    """Tokens as the endpoint counted them; null where it did not say."""

    prompt_tokens: int | None
    completion_tokens: int | None


class TurnAnswer(Answer):
    """`raw` is the answer as it came, untrusted; `action` is null where none was found in it."""

    number: int
    messages: list[dict[str, Any]] | None = Field(
        description="What was asked, word for word; only where asked for"
    )
    raw: str
    source: Source
    action: str | None
    parsed: bool
    effect: Effect
    feedback: str
    reward: float
    agent: tuple[int, int] = Field(description="Where it stands afterwards")
    finish_reason: str | None
    latency_seconds: float | None
    first_token_seconds: float | None
    usage: UsageAnswer

    @classmethod
    def of(cls, turn: TurnRecord, messages: Sequence[dict[str, Any]] | None = None) -> "TurnAnswer":
        answer = turn.answer
        return cls(
            number=turn.number,
            messages=None if messages is None else list(messages),
            raw=answer.text,
            source=answer.source,
            action=turn.action,
            parsed=turn.is_parsed,
            effect=turn.effect,
            feedback=turn.feedback,
            reward=turn.reward,
            agent=turn.cell,
            finish_reason=answer.finish_reason,
            latency_seconds=answer.latency_seconds,
            first_token_seconds=answer.first_token_seconds,
            usage=UsageAnswer(
                prompt_tokens=answer.prompt_tokens, completion_tokens=answer.completion_tokens
            ),
        )


class FailureAnswer(Answer):
    """Why an endpoint gave no answer."""

    kind: ModelErrorKind
    message: str
    is_retryable: bool

    @classmethod
    def of(cls, failure: Failure) -> "FailureAnswer":
        return cls(kind=failure.kind, message=failure.message, is_retryable=failure.is_retryable)


class LaneAnswer(Answer):
    """`endpoint` null: a person plays. `answering`: somebody waits for the next answer just now.

    `passed` is SkyRL's notion behind pass_at_1: a reward above zero.
    """

    number: int
    endpoint: str | None
    model: str
    status: LaneStatus
    answering: bool
    outcome: Outcome | None
    solved: bool
    passed: bool
    reward: float
    agent: tuple[int, int]
    failure: FailureAnswer | None
    turn_count: int
    turns: list[TurnAnswer]

    @classmethod
    def of(
        cls, loaded: LoadedLane, messages: Sequence[Sequence[dict[str, Any]]] = ()
    ) -> "LaneAnswer":
        """`messages` are those of each turn, if they are wanted."""
        lane = loaded.lane
        asked = messages or repeat(None, len(lane.turns))
        return cls(
            number=loaded.number,
            endpoint=loaded.seat.endpoint,
            model=loaded.seat.title,
            status=lane.status,
            answering=loaded.is_answering,
            outcome=lane.outcome,
            solved=lane.is_solved,
            passed=lane.is_passed,
            reward=lane.reward,
            agent=lane.agent,
            failure=FailureAnswer.of(lane.failure) if lane.failure else None,
            turn_count=len(lane.turns),
            turns=[TurnAnswer.of(turn, each) for turn, each in zip(lane.turns, asked, strict=True)],
        )


class PlayedAnswer(Answer):
    """What was played, wherever: the maze and each lane's turns."""

    env_id: str
    seed: int
    max_turns: int
    dialect: Dialect
    maze: MazeAnswer
    lanes: list[LaneAnswer]


class ParentAnswer(Answer):
    id: str
    turn: int | None


class EpisodeAnswer(PlayedAnswer):
    id: str = Field(examples=["eps-7fk2m9qd"])
    project: str
    origin: EpisodeOrigin
    profile: str
    sampling: dict[str, Any]
    max_input_tokens: int | None
    owner: str
    created_at: datetime
    parent: ParentAnswer | None

    @classmethod
    def of(
        cls,
        episode: Episode,
        loaded: LoadedEpisode,
        messages: Sequence[Sequence[Sequence[dict[str, Any]]]] = (),
    ) -> "EpisodeAnswer":
        parent = episode.parent
        return cls(
            **played(loaded, messages),
            id=episode.slug,
            project=episode.project.slug,
            origin=episode.origin,
            profile=PROFILE,
            sampling=episode.sampling,
            max_input_tokens=episode.max_input_tokens,
            owner=episode.owner,
            created_at=episode.created_at,
            parent=ParentAnswer(id=parent.slug, turn=episode.parent_turn) if parent else None,
        )


class LaneLineAnswer(Answer):
    """A lane in a list: how it stands, without its turns."""

    number: int
    endpoint: str | None
    model: str
    status: LaneStatus
    outcome: Outcome | None
    solved: bool
    reward: float
    turn_count: int


class EpisodeLineAnswer(Answer):
    """An episode in a list."""

    id: str
    project: str
    env_id: str
    seed: int
    max_turns: int
    dialect: Dialect
    owner: str
    created_at: datetime
    lanes: list[LaneLineAnswer]

    @classmethod
    def of(cls, episode: Episode) -> "EpisodeLineAnswer":
        return cls(
            id=episode.slug,
            project=episode.project.slug,
            env_id=episode.env_id,
            seed=episode.seed,
            max_turns=episode.max_turns,
            dialect=Dialect(episode.dialect),
            owner=episode.owner,
            created_at=episode.created_at,
            lanes=[
                LaneLineAnswer(
                    number=lane.number,
                    endpoint=lane.endpoint,
                    model=lane.model or "You",
                    status=lane.status,
                    outcome=lane.outcome,
                    solved=lane.outcome is Outcome.SOLVED,
                    reward=lane.reward,
                    turn_count=lane.turn_count,
                )
                for lane in episode.lanes
            ],
        )


class RequestAnswer(Answer):
    """What one turn was asked with: `model`, `messages` and the values beside them."""

    lane: int
    endpoint: str | None
    model: str
    messages: list[dict[str, Any]]
    sampling: dict[str, Any]
    turn: TurnAnswer


def played(
    loaded: LoadedEpisode, messages: Sequence[Sequence[Sequence[dict[str, Any]]]]
) -> dict[str, Any]:
    """The fields of `PlayedAnswer`; `messages` by lane and turn, or empty where nobody asked."""
    task = loaded.task
    asked = messages or repeat((), len(loaded.lanes))
    return {
        "env_id": task.env_id,
        "seed": task.seed,
        "max_turns": task.max_turns,
        "dialect": task.dialect,
        "maze": MazeAnswer.of(loaded.lanes[0].lane.maze),
        "lanes": [
            LaneAnswer.of(lane, each) for lane, each in zip(loaded.lanes, asked, strict=True)
        ],
    }
