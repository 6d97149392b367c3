"""Lanes driven by models: retries, limits of time, stopping."""

import asyncio

import pytest

from app.episodes.asking import play_turn
from app.episodes.driver import Patience, play_episode
from app.episodes.engine import Lane
from app.episodes.states import LaneStatus, Outcome
from app.llm.chat import ModelError, ModelErrorKind, Sampling
from tests.episodes.factories import EASY, solution
from tests.fakes.models import ScriptedModel

GREEDY = Sampling()
BROKEN = ModelError(ModelErrorKind.SERVER_ERROR, "The endpoint failed.")
BUSY = ModelError(ModelErrorKind.RATE_LIMITED, "Too many.", retry_after_seconds=7)
WRONG_KEY = ModelError(ModelErrorKind.UNAUTHORIZED, "The key is wrong.")


class Sleeps:
    def __init__(self) -> None:
        self.slept: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.slept.append(seconds)


async def test_an_episode_is_played_to_its_end() -> None:
    model = ScriptedModel(*solution())
    lane = await play_episode(Lane(EASY), model, GREEDY)
    assert lane.outcome is Outcome.SOLVED
    assert [len(request) for request in model.requests] == list(range(1, 2 * len(lane.turns), 2))
    assert set(model.samplings) == {GREEDY}


async def test_what_may_pass_is_tried_again() -> None:
    first, *others = solution()
    sleeps = Sleeps()
    model = ScriptedModel(first, BROKEN, BUSY, *others)
    lane = await play_episode(Lane(EASY), model, GREEDY, sleep=sleeps)
    assert lane.outcome is Outcome.SOLVED
    assert len(lane.turns) == len(solution())
    assert sleeps.slept[0] < 7 <= sleeps.slept[1]


async def test_after_some_tries_it_is_given_up() -> None:
    sleeps = Sleeps()
    model = ScriptedModel(BROKEN)
    lane = await play_episode(
        Lane(EASY), model, GREEDY, patience=Patience(attempts=3), sleep=sleeps
    )
    assert (lane.outcome, len(model.requests), len(sleeps.slept)) == (Outcome.ENDPOINT_ERROR, 3, 2)
    assert lane.failure is not None
    assert lane.failure.message == "The endpoint failed."


async def test_what_needs_a_person_is_not_tried_again() -> None:
    model = ScriptedModel(WRONG_KEY)
    lane = await play_episode(Lane(EASY), model, GREEDY, sleep=Sleeps())
    assert (lane.outcome, len(model.requests)) == (Outcome.ENDPOINT_ERROR, 1)


async def test_an_overflow_is_no_error_of_the_endpoint() -> None:
    model = ScriptedModel(solution()[0], ModelError(ModelErrorKind.CONTEXT_OVERFLOW, "Too long."))
    lane = await play_episode(Lane(EASY), model, GREEDY, sleep=Sleeps())
    assert (lane.outcome, len(lane.turns)) == (Outcome.CONTEXT_LIMIT, 1)


async def test_a_played_lane_may_be_gone_on_with() -> None:
    answers = solution()
    started = Lane(EASY)
    for answer in answers[:5]:
        await play_turn(started, ScriptedModel(answer), GREEDY)
    lane = await play_episode(started, ScriptedModel(*answers[5:]), GREEDY)
    assert lane.outcome is Outcome.SOLVED


async def test_stopping_does_not_wait_for_the_answer() -> None:
    model, cancel = ScriptedModel(solution()[0], gate=asyncio.Event()), asyncio.Event()
    playing = asyncio.create_task(play_episode(Lane(EASY), model, GREEDY, cancel=cancel))
    await model.asked.wait()
    cancel.set()
    lane = await asyncio.wait_for(playing, 5)
    assert (lane.outcome, len(lane.turns)) == (Outcome.STOPPED, 0)


async def test_stopping_does_not_wait_for_the_next_try() -> None:
    cancel = asyncio.Event()
    model = ScriptedModel(BUSY)

    async def told(_seconds: float) -> None:
        cancel.set()
        await asyncio.Event().wait()

    playing = play_episode(Lane(EASY), model, GREEDY, cancel=cancel, sleep=told)
    lane = await asyncio.wait_for(playing, 5)
    assert lane.outcome is Outcome.STOPPED


async def test_an_answer_that_takes_too_long_fails_the_turn() -> None:
    model = ScriptedModel("never", gate=asyncio.Event())
    lane = Lane(EASY)
    assert await play_turn(lane, model, GREEDY, turn_seconds=0.01) is None
    assert lane.status is LaneStatus.FAILED
    assert lane.failure is not None
    assert lane.failure.kind is ModelErrorKind.TIMED_OUT
    assert "0.01 seconds" in lane.failure.message


async def test_a_killed_turn_leaves_the_lane_as_it_was() -> None:
    model, lane = ScriptedModel("never", gate=asyncio.Event()), Lane(EASY)
    playing = asyncio.create_task(play_turn(lane, model, GREEDY))
    await model.asked.wait()
    playing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await playing
    assert (lane.status, lane.turns) == (LaneStatus.ASKING, [])


async def test_text_is_streamed_where_somebody_listens() -> None:
    pieces: list[str] = []
    answer = solution()[0]
    turn = await play_turn(Lane(EASY), ScriptedModel(answer), GREEDY, on_text=pieces.append)
    assert turn is not None
    assert pieces == [answer]
