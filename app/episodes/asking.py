"""Asks a model for one turn of a lane, within limits; the rules are in `engine.py`."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from app.episodes.engine import Lane, TurnRecord
from app.episodes.states import LaneStatus
from app.llm.chat import ChatModel, Completion, ModelError, ModelErrorKind, OnText, Sampling

TURN_SECONDS = 120.0
"""How long one answer may take, whatever trickles in meanwhile."""

T = TypeVar("T")


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
        completion = await ask(lane, model, sampling, turn_seconds, on_text)
    except ModelError as error:
        lane.fail(error)
        return None
    return lane.take(completion)


async def ask(
    lane: Lane, model: ChatModel, sampling: Sampling, seconds: float, on_text: OnText | None = None
) -> Completion:
    """One answer to what the lane asks, within `seconds`. Raises `ModelError`; changes nothing."""
    try:
        async with asyncio.timeout(seconds):
            return await model.complete(lane.request(), sampling=sampling, on_text=on_text)
    except TimeoutError:
        raise ModelError(
            ModelErrorKind.TIMED_OUT, f"The endpoint gave no whole answer in {seconds:g} seconds."
        ) from None


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
