"""Plays lanes with models: asks, waits within limits, retries; the rules are in `engine.py`."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt
from tenacity.wait import wait_base, wait_exponential_jitter

from app.episodes.engine import Lane, TurnRecord
from app.episodes.states import LaneStatus
from app.llm.chat import ChatModel, Completion, ModelError, ModelErrorKind, OnText, Sampling

TURN_SECONDS = 120.0
"""How long one answer may take, whatever trickles in meanwhile."""
_LONGEST_WAIT_SECONDS = 60.0

T = TypeVar("T")
OnTurn = Callable[[Lane, TurnRecord], Awaitable[None]]
Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long to wait for one answer, and how often to ask for it before giving up."""

    turn_seconds: float = TURN_SECONDS
    attempts: int = 4


class Stopped(Exception):
    """The play was told to stop while it waited for an answer."""


async def play_turn(
    lane: Lane,
    model: ChatModel,
    sampling: Sampling,
    *,
    turn_seconds: float = TURN_SECONDS,
    on_text: OnText | None = None,
) -> TurnRecord | None:
    """Asks once for the next answer; a lane that failed is asked again.

    None if no turn came of it: `lane.status` and `lane.failure` then say why. Never raises for
    what an endpoint does. If the task is cancelled, the lane stays as it was.
    """
    if lane.status is LaneStatus.FAILED:
        lane.retry()
    try:
        completion = await _ask(lane, model, sampling, turn_seconds, on_text)
    except ModelError as error:
        lane.fail(error)
        return None
    return lane.take(completion)


async def play_episode(
    lane: Lane,
    model: ChatModel,
    sampling: Sampling,
    *,
    patience: Patience = Patience(),
    cancel: asyncio.Event | None = None,
    on_turn: OnTurn | None = None,
    sleep: Sleep = asyncio.sleep,
) -> Lane:
    """Plays the lane to its end and returns it, over: from where it stands, so it may be resumed.

    What may pass by itself is tried `patience.attempts` times, waiting longer each time and at
    least as long as the server asked. `cancel` ends the lane as stopped, at once. `on_turn` is
    awaited after each turn, and what it raises is raised.
    """
    while not lane.is_over:
        try:
            turn = await _patiently(lane, model, sampling, patience, cancel, sleep)
        except Stopped:
            lane.stop()
            break
        if turn is not None and on_turn is not None:
            await on_turn(lane, turn)
    return lane


async def unless(work: Awaitable[T], told: Awaitable[object]) -> T:
    """What `work` gives. Raises `Stopped`, with the work cancelled, if `told` ends before it."""
    working, waiting = asyncio.ensure_future(work), asyncio.ensure_future(told)
    try:
        await asyncio.wait({working, waiting}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise Stopped
        return working.result()
    finally:
        for each in (working, waiting):
            each.cancel()
        await asyncio.gather(working, waiting, return_exceptions=True)


async def _patiently(
    lane: Lane,
    model: ChatModel,
    sampling: Sampling,
    patience: Patience,
    cancel: asyncio.Event | None,
    sleep: Sleep,
) -> TurnRecord | None:
    """One turn, asked for again and again; ends the lane if that does not help."""

    async def ask() -> Completion:
        asked = _ask(lane, model, sampling, patience.turn_seconds, None)
        return await _unless_cancelled(asked, cancel)

    async def wait(seconds: float) -> None:
        await _unless_cancelled(sleep(seconds), cancel)

    if lane.status is LaneStatus.FAILED:
        lane.retry()
    retrying = AsyncRetrying(
        stop=stop_after_attempt(patience.attempts),
        retry=retry_if_exception(_may_pass),
        wait=_Wait(),
        sleep=wait,
        reraise=True,
    )
    try:
        return lane.take(await retrying(ask))
    except ModelError as error:
        lane.fail(error)
        if not lane.is_over:
            lane.give_up()
        return None


async def _ask(
    lane: Lane, model: ChatModel, sampling: Sampling, seconds: float, on_text: OnText | None
) -> Completion:
    try:
        async with asyncio.timeout(seconds):
            return await model.complete(lane.request(), sampling=sampling, on_text=on_text)
    except TimeoutError:
        raise ModelError(
            ModelErrorKind.TIMED_OUT, f"The endpoint gave no whole answer in {seconds:g} seconds."
        ) from None


async def _unless_cancelled(work: Awaitable[T], cancel: asyncio.Event | None) -> T:
    """What `work` gives. Raises `Stopped` once `cancel` is set."""
    return await work if cancel is None else await unless(work, cancel.wait())


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
