"""The state machine of one lane."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.episodes.engine import Answer, Lane, LaneNotAsking
from app.episodes.states import Effect, LaneStatus, Outcome, Source
from app.llm.chat import ModelError, ModelErrorKind
from app.maze.parse import KEYWORDS, Dialect
from tests.episodes.factories import EASY, solution, wall
from tests.fakes.models import completion

BROKEN = ModelError(ModelErrorKind.SERVER_ERROR, "The endpoint failed.")


def test_the_shortest_way_and_a_stop_solve() -> None:
    lane = Lane(EASY)
    for answer in solution():
        turn = lane.take(completion(answer))
        assert turn is not None
        assert turn.is_parsed
    assert (lane.status, lane.outcome, lane.reward) == (LaneStatus.OVER, Outcome.SOLVED, 1.0)
    assert lane.is_solved
    assert lane.agent == lane.maze.target == lane.cells[-1]
    with pytest.raises(LaneNotAsking):
        lane.take(completion("<action>up</action>"))


def test_a_failed_turn_keeps_the_others_and_is_retried() -> None:
    lane = Lane(EASY)
    first, second, *_ = solution()
    lane.take(completion(first))
    asked = lane.request()
    lane.fail(BROKEN)
    assert (lane.status, len(lane.turns)) == (LaneStatus.FAILED, 1)
    assert lane.failure is not None
    assert lane.failure.is_retryable
    with pytest.raises(LaneNotAsking):
        lane.request()
    lane.retry()
    assert lane.request() == asked
    assert lane.failure is None
    lane.take(completion(second))
    assert [turn.effect for turn in lane.turns] == [Effect.MOVED, Effect.MOVED]


def test_giving_up_and_stopping_end_a_lane() -> None:
    lane = Lane(EASY)
    lane.fail(BROKEN)
    lane.give_up()
    assert (lane.outcome, lane.failure and lane.failure.message) == (
        Outcome.ENDPOINT_ERROR,
        "The endpoint failed.",
    )
    lane.stop()
    assert lane.outcome is Outcome.ENDPOINT_ERROR
    other = Lane(EASY)
    other.stop()
    assert other.outcome is Outcome.STOPPED
    with pytest.raises(LaneNotAsking):
        other.fail(BROKEN)


def test_an_overflow_ends_the_lane() -> None:
    lane = Lane(EASY)
    lane.fail(ModelError(ModelErrorKind.CONTEXT_OVERFLOW, "Too long."))
    assert (lane.outcome, lane.reward) == (Outcome.CONTEXT_LIMIT, 0.0)
    assert lane.failure is not None
    assert lane.failure.message == "Too long."


def test_a_prompt_above_the_limit_does_not_count() -> None:
    """SkyRL would not have sent it, so its answer is no turn."""
    lane = Lane(replace(EASY, max_input_tokens=400))
    first, second, *_ = solution()
    assert lane.take(completion(first, prompt_tokens=390)) is not None
    assert lane.take(completion(second, prompt_tokens=401)) is None
    assert (lane.outcome, len(lane.turns)) == (Outcome.CONTEXT_LIMIT, 1)


@pytest.mark.parametrize(("limit", "window"), [(395, None), (None, 396), (395, 5_000)])
def test_a_prompt_that_must_be_too_long_is_not_sent(limit: int | None, window: int | None) -> None:
    lane = Lane(replace(EASY, max_input_tokens=limit), max_model_len=window)
    lane.take(completion(solution()[0], prompt_tokens=390, completion_tokens=6))
    assert lane.outcome is Outcome.CONTEXT_LIMIT
    assert len(lane.turns) == 1


def test_answers_without_end_end_the_lane_although_nobody_counts_their_tokens() -> None:
    lane = Lane(replace(EASY, max_turns=100, max_input_tokens=None), has_pictures=False)
    while not lane.is_over:
        lane.take(completion("x" * 250_000))
    assert lane.outcome is Outcome.CONTEXT_LIMIT
    assert len(lane.turns) == 5
    again = Lane.restore(lane.task, [turn.answer for turn in lane.turns], has_pictures=False)
    assert (again.outcome, len(again.turns)) == (Outcome.CONTEXT_LIMIT, 5)


def test_the_last_turn_counts_however_long_it_was() -> None:
    lane = Lane(replace(EASY, max_turns=1, max_input_tokens=395))
    lane.take(completion(wall(), prompt_tokens=390, completion_tokens=60))
    assert lane.outcome is Outcome.WALL_BUMPING


@pytest.mark.parametrize("dialect", list(Dialect))
@pytest.mark.parametrize("move", ["up", " UP ", "('move', 1)"])
def test_a_persons_move_is_spelled_in_the_dialect(move: str, dialect: Dialect) -> None:
    lane = Lane(replace(EASY, dialect=dialect))
    turn = lane.force(move)
    assert turn.action == KEYWORDS["up"]
    assert turn.answer.source is Source.PERSON
    assert lane.messages[1] == {"role": "assistant", "content": turn.answer.text}


def test_what_is_no_move_is_refused() -> None:
    lane = Lane(EASY)
    with pytest.raises(ValueError, match="right, up, left, down, stop"):
        lane.force("jump")
    assert not lane.turns


def test_a_branch_goes_its_own_way() -> None:
    lane = Lane(EASY)
    for answer in solution()[:4]:
        lane.take(completion(answer))
    branch = lane.branch(2)
    assert branch.request() == lane.messages_of(3)
    branch.force("stop")
    assert branch.outcome is Outcome.WRONG_STOP
    assert (len(lane.turns), lane.status) == (4, LaneStatus.ASKING)
    with pytest.raises(ValueError, match="4 turns"):
        lane.branch(5)


def test_without_pictures_all_but_the_request_is_the_same() -> None:
    blind = Lane(EASY, has_pictures=False)
    with pytest.raises(LaneNotAsking):
        blind.request()
    seeing = Lane(EASY)
    for answer in [*solution()[:3], "what?", wall()]:
        assert blind.take(completion(answer)) == seeing.take(completion(answer))
    assert blind.picture() == seeing.picture()


@given(st.lists(st.sampled_from([*KEYWORDS, "nonsense"]), max_size=20), st.sampled_from(Dialect))
def test_answers_alone_bring_a_lane_back(words: list[str], dialect: Dialect) -> None:
    task = replace(EASY, dialect=dialect, env_id="maze_2d/7x5")
    lane = Lane(task)
    for word in words:
        if lane.is_over:
            break
        if word in KEYWORDS:
            lane.force(word)
        else:
            lane.take(completion(word))
    answers = [turn.answer for turn in lane.turns]
    restored = Lane.restore(task, answers)
    assert restored.turns == lane.turns
    assert (restored.status, restored.outcome) == (lane.status, lane.outcome)
    assert restored.messages == lane.messages


def test_what_answers_do_not_tell_is_given() -> None:
    answers = [Answer(text=solution()[0])]
    stopped = Lane.restore(EASY, answers, outcome=Outcome.STOPPED)
    assert (stopped.status, stopped.outcome) == (LaneStatus.OVER, Outcome.STOPPED)
    lane = Lane(EASY)
    lane.fail(BROKEN)
    failed = Lane.restore(EASY, answers, failure=lane.failure)
    assert (failed.status, failed.failure) == (LaneStatus.FAILED, lane.failure)
