"""Plays whole lanes with models: asks again and again, with patience; one turn is `asking.py`."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tenacity.wait import wait_exponential_jitter

from app.episodes.asking import TURN_SECONDS, Stopped, ask, unless
from app.episodes.engine import Lane
from app.episodes.states import LaneStatus
from app.llm.chat import ChatModel, Completion, ModelError, Sampling
from app.waits import seconds_before

_LONGEST_WAIT_SECONDS = 60.0
_LONGER = wait_exponential_jitter(multiplier=0.5, max=_LONGEST_WAIT_SECONDS)

Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long to wait for one answer, and how often to ask for it before giving up."""

    turn_seconds: float = TURN_SECONDS
    attempts: int = 4


async def play_episode(
    lane: Lane,
    model: ChatModel,
    sampling: Sampling,
    *,
    patience: Patience = Patience(),
    cancel: asyncio.Event | None = None,
    sleep: Sleep = asyncio.sleep,
) -> Lane:
    """Plays the lane to its end and returns it, over: from where it stands, so it may be resumed.

    What may pass by itself is tried `patience.attempts` times, waiting longer each time and at
    least as long as the server asked. `cancel` ends the lane as stopped, at once.
    """
    playing = _play(lane, model, sampling, patience, sleep)
    try:
        await (playing if cancel is None else unless(playing, cancel.wait()))
    except Stopped:
        lane.stop()
    return lane


async def _play(
    lane: Lane, model: ChatModel, sampling: Sampling, patience: Patience, sleep: Sleep
) -> None:
    while not lane.is_over:
        if lane.status is LaneStatus.FAILED:
            lane.retry()
        try:
            lane.take(await _patiently(lane, model, sampling, patience, sleep))
        except ModelError as error:
            lane.fail(error)
            if not lane.is_over:
                lane.give_up()


async def _patiently(
    lane: Lane, model: ChatModel, sampling: Sampling, patience: Patience, sleep: Sleep
) -> Completion:
    """One answer, asked for again and again. Raises the last attempt's `ModelError`."""
    failures = 0
    # Not by tenacity's own loop, which costs a twentieth of a turn that goes well.
    while True:
        try:
            return await ask(lane, model, sampling, patience.turn_seconds)
        except ModelError as error:
            failures += 1
            if not error.is_retryable or failures >= patience.attempts:
                raise
            asked = min(error.retry_after_seconds or 0.0, _LONGEST_WAIT_SECONDS)
            await sleep(max(asked, seconds_before(_LONGER, failures=failures)))
