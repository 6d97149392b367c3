import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.maze.env import BUMPED, DIRECTIONS, EXECUTED, MALFORMED, MazeEnv, ResetNeeded
from app.maze.generate import generate
from app.maze.literal import MAX_CHARACTERS
from app.maze.parse import KEYWORDS
from app.maze.solve import shortest_path

moves = st.lists(st.integers(0, 3), max_size=40)
payloads = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@given(st.integers(0, 10_000), moves)
def test_a_move_goes_one_cell_or_bumps(seed: int, directions: list[int]) -> None:
    env = MazeEnv()
    maze = env.reset(seed)
    for direction in directions:
        before = env.agent
        ahead = tuple(np.add(before, DIRECTIONS[direction]))
        step = env.step(f"('move', {direction})")
        bumped = bool(maze.map[ahead])
        assert env.agent == (before if bumped else ahead)
        assert step == (0.0, False, False, BUMPED if bumped else EXECUTED)
        assert not maze.is_wall(env.agent)
        assert env.feedback == step.feedback
        assert env.distance == abs(np.subtract(env.agent, maze.target)).sum()


@given(st.integers(0, 10_000), st.text() | payloads.map(lambda payload: repr(("move", payload))))
def test_no_text_but_a_valid_stop_ends_or_pays(seed: int, action: str) -> None:
    env = MazeEnv()
    env.reset(seed)
    step = env.step(action)
    assert step[:3] == (0.0, False, False)
    step.feedback.encode()


@given(payloads)
def test_stop_takes_a_short_word(payload: object) -> None:
    env = MazeEnv()
    env.reset(0)
    word = isinstance(payload, str) and payload.isascii() and payload.isalnum()
    valid = word and len(str(payload)) <= 4
    assert env.step(repr(("stop", payload))).terminated == valid


def test_the_shortest_path_and_a_stop_earn_the_reward() -> None:
    env = MazeEnv()
    maze = env.reset(3)
    rewards = [env.step(f"('move', {move})").reward for move in shortest_path(maze)]
    assert set(rewards) == {0.0}, "reaching the target alone pays nothing"
    assert env.step(KEYWORDS["stop"]) == (1.0, True, False, EXECUTED)


@pytest.mark.parametrize("action", ["('move', 0, 1)", "['move', 0]", "'move'", "0", "()"])
def test_a_literal_of_another_form_is_malformed(action: str) -> None:
    env = MazeEnv()
    env.reset(0)
    assert env.step(action).feedback == MALFORMED


@pytest.mark.parametrize(
    "action", ["", "move 0", "('move', 0) x", "('move', x)", "(" * 900, "-" * 900]
)
def test_a_text_that_is_no_literal_is_quoted(action: str) -> None:
    env = MazeEnv()
    env.reset(0)
    feedback = env.step(action).feedback
    assert feedback.startswith(f"Cannot parse action string {action!r}: ")
    assert feedback.endswith(" so the action is invalid.")


def test_a_huge_action_is_quoted_in_part() -> None:
    env = MazeEnv()
    env.reset(0)
    feedback = env.step("1" * 10_000_000).feedback
    assert len(feedback) < MAX_CHARACTERS + 200


def test_a_lone_surrogate_can_be_written_out() -> None:
    env = MazeEnv()
    env.reset(0)
    assert r"\ud800" in env.step(r"('move', '\ud800')").feedback
    assert r"\ud800" in env.step(r"('\ud800', 0)").feedback


def test_an_odd_escape_is_taken_as_it_is() -> None:
    env = MazeEnv()
    env.reset(0)
    assert r"\d" in env.step(r"('move', '\d')").feedback


def test_huge_integers_are_invalid_moves() -> None:
    env = MazeEnv()
    env.reset(0)
    assert "not in the valid action space" in env.step(f"('move', {2**70})").feedback
    assert "not in the valid action space" in env.step(f"('move', 0x{'f' * 900})").feedback


def test_everything_needs_a_reset_first() -> None:
    env = MazeEnv()
    for use in (env.frame, env.png, lambda: env.step(KEYWORDS["up"]), lambda: env.agent):
        with pytest.raises(ResetNeeded, match=r"call reset\(\)"):
            use()


def test_a_seeded_environment_goes_on_with_its_own_generator() -> None:
    first, second = MazeEnv(seed=4), MazeEnv()
    assert first.reset() == generate(4)
    second.reset(4)
    assert first.reset() == second.reset()


def test_unseeded_environments_differ() -> None:
    mazes = {MazeEnv().reset().layout for _ in range(8)}
    assert len(mazes) > 1


def test_a_reset_clears_feedback_and_picture() -> None:
    env = MazeEnv()
    maze = env.reset(0)
    fresh = env.frame()
    env.step(f"('move', {shortest_path(maze)[0]})")
    assert not np.array_equal(env.frame(), fresh)
    env.reset(0)
    assert env.feedback == ""
    assert np.array_equal(env.frame(), fresh)


def test_an_environment_takes_its_size_from_its_name() -> None:
    assert MazeEnv.of("maze_2d/7x11").reset(0).map.shape == (7, 11)
    with pytest.raises(ValueError, match="unknown environment"):
        MazeEnv.of("maze_2d/medium")
