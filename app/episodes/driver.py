"""Plays whole lanes with models: asks again and again, with patience; one turn is `asking.py`."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt
from tenacity.wait import wait_base, wait_exponential_jitter

from app.episodes.asking import TURN_SECONDS, Stopped, ask, unless
from app.episodes.engine import Lane
from app.episodes.states import LaneStatus
from app.llm.chat import ChatModel, ModelError, Sampling

_LONGEST_WAIT_SECONDS = 60.0

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
    retrying = AsyncRetrying(
        stop=stop_after_attempt(patience.attempts),
        retry=retry_if_exception(_may_pass),
        wait=_Wait(),
        sleep=sleep,
        reraise=True,
    )
    while not lane.is_over:
        if lane.status is LaneStatus.FAILED:
            lane.retry()
        try:
            lane.take(await retrying(ask, lane, model, sampling, patience.turn_seconds))
        except ModelError as error:
            lane.fail(error)
            if not lane.is_over:
                lane.give_up()


class _Wait(wait_base):
    """Longer each time, and at least as long as the server asked."""

    def __init__(self) -> None:
        self._longer = wait_exponential_jitter(multiplier=0.5, max=_LONGEST_WAIT_SECONDS)

    def __call__(self, retry_state: RetryCallState) -> float:
        assert retry_state.outcome is not None
        error = retry_state.outcome.exception()
        asked = error.retry_after_seconds if isinstance(error, ModelError) else None
        return max(self._longer(retry_state), min(asked or 0.0, _LONGEST_WAIT_SECONDS))


def _may_pass(error: BaseException) -> bool:
    return isinstance(error, ModelError) and error.is_retryable
