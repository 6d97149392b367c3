"""Episodes of evaluations that runs make while training, brought back for the viewer.

A worker keeps their answers when it reads a dump (`app/episodes/packed.py`); maze and pictures are
rebuilt from seed and actions, and compared with what the run counted.
"""

import asyncio
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from app.episodes import repository
from app.episodes.engine import Answer, Lane, Task, TurnRecord
from app.episodes.loaded import LoadedEpisode, LoadedLane, Recorded
from app.episodes.packed import Rollout, pack, unpack
from app.episodes.seats import Seat
from app.episodes.states import Outcome
from app.errors import NotFound
from app.metrics import service as metrics
from app.models import Run, TrainingEvaluation

__all__ = [
    "FoundRollout",
    "KeptRollout",
    "get_evaluation",
    "get_rollout",
    "pack",
    "rebuild",
    "rollout_as_episode",
]

# Python's own words in it differ between versions.
_PYTHONS_WORDS = "Cannot parse action string"
_SHOWN = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptRollout:
    """Episode `number` of an evaluation, from 1 in the order of its dump, as it is stored.

    `payload` are the packed answers of the whole evaluation; None: they were not kept.
    """

    evaluation: TrainingEvaluation
    number: int
    title: str
    payload: bytes | None


@dataclass(frozen=True, slots=True)
class FoundRollout:
    """Episode `number` of an evaluation, brought back."""

    evaluation: TrainingEvaluation
    number: int
    loaded: LoadedEpisode


async def get_evaluation(
    session: AsyncSession, run: Run, step: int, *, attempt: int | None = None
) -> TrainingEvaluation:
    """The newest attempt's evaluation at a step unless another is named. Raises `NotFound`."""
    found = await metrics.find_evaluation(session, run, step, attempt=attempt)
    if found is None:
        where = f" of attempt {attempt}" if attempt is not None else ""
        raise NotFound(f"run {run.slug} has no evaluation{where} at step {step}")
    return found


async def get_rollout(
    session: AsyncSession, run: Run, step: int, number: int, *, attempt: int | None = None
) -> KeptRollout:
    """An episode of an evaluation, to be brought back by `rebuild`. Raises `NotFound`."""
    evaluation = await get_evaluation(session, run, step, attempt=attempt)
    if not 1 <= number <= len(evaluation.items):
        raise NotFound(f"this evaluation has {len(evaluation.items)} episodes, no {number}")
    payload = await repository.find_rollouts(session, evaluation.id)
    return KeptRollout(evaluation=evaluation, number=number, title=run.name, payload=payload)


async def rebuild(kept: KeptRollout) -> FoundRollout:
    """Brings an episode back, in a thread: hold no session meanwhile.

    Raises `NotFound`, with the reason, if it cannot be rebuilt.
    """
    item = kept.evaluation.items[kept.number - 1]
    loaded = await asyncio.to_thread(_rebuilt, kept.payload, kept.number, item, kept.title)
    return FoundRollout(kept.evaluation, kept.number, loaded)


def rollout_as_episode(rollout: Rollout, item: dict[str, Any], *, title: str) -> LoadedEpisode:
    """The episode for the viewer; `item` is its row of `TrainingEvaluation.items`.

    Raises `NotFound` where nothing can be rebuilt: no seed, an unknown environment, or answers
    that were too long to be kept.
    """
    if rollout.answers is None:
        raise NotFound("the answers of this episode were too long to be kept")
    if item["seed"] is None:
        raise NotFound("this episode had no seed, so nobody knows which maze it was played in")
    task = Task(
        env_id=rollout.env_id,
        seed=item["seed"],
        max_turns=max(1, rollout.max_turns or len(rollout.answers)),
        dialect=rollout.dialect,
        max_input_tokens=None,
    )
    try:
        lane = _lane(task, rollout, reward=item["reward"])
    except ValueError as error:
        raise NotFound(f"this episode cannot be rebuilt: {error}") from None
    recorded = Recorded(
        is_solved=item["solved"],
        is_passed=item["passed"],
        reward=item["reward"],
        turns=item["turns"],
        problem=_difference(lane, rollout, item),
    )
    seat = Seat(endpoint="", model=title)
    return LoadedEpisode(
        task=task, lanes=[LoadedLane(number=1, seat=seat, lane=lane)], recorded=recorded
    )


def _rebuilt(payload: bytes | None, number: int, item: dict[str, Any], title: str) -> LoadedEpisode:
    rollout = unpack(payload, number - 1) if payload is not None else None
    if rollout is None:
        raise NotFound("the answers of this evaluation were not kept: it is of an older version")
    return rollout_as_episode(rollout, item, title=title)


def _lane(task: Task, rollout: Rollout, *, reward: float | None) -> Lane:
    answers = [Answer(text=text) for text in rollout.answers or ()]
    # SkyRL ends an episode by itself, or because its conversation got too long.
    lane = Lane.restore(task, answers, has_pictures=False, outcome=Outcome.CONTEXT_LIMIT)
    if lane.turns and reward is not None:
        # The run's own: its environment may pay otherwise than SkyRL's does.
        lane.turns[-1] = replace(lane.turns[-1], reward=reward)
    return lane


def _difference(lane: Lane, rollout: Rollout, item: dict[str, Any]) -> str:
    """Where the rebuilt episode is another than the recorded one; empty if nowhere."""
    answers = rollout.answers or ()
    for turn, told in zip(lane.turns, rollout.feedbacks, strict=False):
        if not _is_same(turn, told):
            return (
                f"At turn {turn.number} the run's environment said {_quoted(told)}, here it says "
                f"{_quoted(turn.feedback)}: the run played in another maze than this one."
            )
    if len(lane.turns) < len(answers):
        return (
            f"The run took {len(answers)} turns; here the episode ends after {len(lane.turns)}: "
            "the run played in another maze than this one."
        )
    if lane.is_solved != item["solved"]:
        counted, shown = ("solved", "not") if item["solved"] else ("not solved", "it is")
        return f"The run counted this episode as {counted}; rebuilt here, {shown}."
    return ""


def _is_same(turn: TurnRecord, told: str) -> bool:
    if turn.feedback.startswith(_PYTHONS_WORDS):
        return told.startswith(_PYTHONS_WORDS)
    return told == turn.feedback


def _quoted(text: str) -> str:
    return f"“{text[:_SHOWN]}{'…' if len(text) > _SHOWN else ''}”"
