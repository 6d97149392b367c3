"""Episodes as they are looked at: each lane brought back to life from its answers. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from app.episodes.engine import Answer, Failure, Lane, Task
from app.episodes.seats import Seat
from app.episodes.states import LONGEST_CLAIM
from app.llm.chat import ModelErrorKind
from app.maze.parse import Dialect
from app.models import Episode, EpisodeLane, EpisodeTurn


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedLane:
    """A lane with who plays in it. `is_answering`: its next answer is being waited for."""

    number: int
    seat: Seat
    lane: Lane
    is_answering: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedEpisode:
    """A task and all that was played of it; `lanes` has at least one.

    `recorded` holds what the source of a rollout says of it, where this is one.
    """

    task: Task
    lanes: Sequence[LoadedLane]
    recorded: "Recorded | None" = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What a training's own evaluation counted for an episode; rebuilding it may show otherwise.

    `is_solved`: the goal was reached. `is_passed`: the reward was above zero. `problem` says where
    the rebuilt episode differs from the recorded one, or what was not kept; empty if in nothing.
    """

    is_solved: bool
    is_passed: bool
    reward: float | None
    turns: int
    problem: str = ""


def task_of(episode: Episode) -> Task:
    return Task(
        env_id=episode.env_id,
        seed=episode.seed,
        max_turns=episode.max_turns,
        dialect=Dialect(episode.dialect),
        max_input_tokens=episode.max_input_tokens,
    )


def load(episode: Episode, now: datetime) -> LoadedEpisode:
    """All lanes, without pictures; needs the episode's lanes and their turns."""
    task = task_of(episode)
    return LoadedEpisode(
        task=task,
        lanes=[
            LoadedLane(
                number=row.number,
                seat=seat_of(row),
                lane=lane_of(task, row),
                is_answering=is_claimed(row, now),
            )
            for row in episode.lanes
        ],
    )


def lane_of(task: Task, row: EpisodeLane, *, has_pictures: bool = False) -> Lane:
    """The lane as it stands; needs the row's turns."""
    return Lane.restore(
        task,
        [answer_of(turn) for turn in row.turns],
        max_model_len=row.max_model_len,
        has_pictures=has_pictures,
        outcome=row.outcome,
        failure=failure_of(row),
    )


def seat_of(row: EpisodeLane) -> Seat:
    return Seat(
        endpoint=row.endpoint,
        endpoint_name=row.endpoint_name,
        model=row.model,
        max_model_len=row.max_model_len,
    )


def is_claimed(row: EpisodeLane, now: datetime) -> bool:
    """Whether somebody asks for the next turn just now."""
    return row.claim_until is not None and now < row.claim_until <= now + LONGEST_CLAIM


def answer_of(turn: EpisodeTurn) -> Answer:
    return Answer(
        text=turn.text,
        source=turn.source,
        finish_reason=turn.finish_reason,
        prompt_tokens=turn.prompt_tokens,
        completion_tokens=turn.completion_tokens,
        latency_seconds=turn.latency_seconds,
        first_token_seconds=turn.first_token_seconds,
    )


def failure_of(row: EpisodeLane) -> Failure | None:
    if row.failure is None:
        return None
    return Failure(
        kind=ModelErrorKind(row.failure["kind"]),
        message=row.failure["message"],
        is_retryable=row.failure["is_retryable"],
    )
