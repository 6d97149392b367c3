from dataclasses import replace

import numpy as np
import pytest

from app.maze.episode import Episode
from app.maze.eval_sets import EASY_SOLVABLE_15
from app.maze.parse import Dialect
from worker.jobs.maze_grpo.answers import ACTIONS, STOP, TEXTS, WORDS
from worker.jobs.maze_grpo.base import BASE_FILE
from worker.jobs.maze_grpo.evalsets import mazes_of
from worker.jobs.maze_grpo.evaluate import Evaluator
from worker.jobs.maze_grpo.export import read_base
from worker.jobs.maze_grpo.mazes import Stream, board, mazes_in
from worker.jobs.maze_grpo.model import Policy
from worker.jobs.maze_grpo.rollout import Episodes, LogProbs, roll


@pytest.fixture(scope="module")
def policy() -> Policy:
    return Policy(read_base(BASE_FILE)[0])


def test_answers_are_parsed_into_the_moves_that_training_makes() -> None:
    assert TEXTS[0] == "<action>right</action>"
    assert [ACTIONS[move] for move in range(4)] == [f"('move', {move})" for move in range(4)]
    assert (WORDS[STOP], ACTIONS[STOP]) == ("stop", "('stop', 'stop')")


def test_sampled_episodes_are_those_of_the_real_environment(policy: Policy) -> None:
    drawn = Stream(700).take(12)
    mazes = board(mazes_in(drawn))
    episodes = roll(
        LogProbs(policy, mazes), mazes, samples=3, turns=15, rng=np.random.default_rng(1)
    )
    assert 0 < episodes.rewards.sum() < 36
    for index, maze in enumerate(episodes.mazes):
        real = Episode("maze_2d/easy", drawn[maze].seed, max_turns=15, dialect=Dialect.KEYWORD)
        reward = 0.0
        for turn in range(episodes.turns[index]):
            row, column = real.env.agent
            assert episodes.states[index, turn] % 81 == row * 9 + column
            reward = real.turn(TEXTS[episodes.answers[index, turn]]).reward
        assert real.done
        assert reward == episodes.rewards[index]


def test_greedy_play_equals_the_way_through_png_and_text(policy: Policy) -> None:
    few = replace(EASY_SOLVABLE_15, seeds=EASY_SOLVABLE_15.seeds[:16])
    mazes = board(mazes_of(few))
    fast = roll(LogProbs(policy, mazes), mazes, samples=1, turns=15, rng=None)
    real = Evaluator(few).evaluate(policy)
    assert [each.reward for each in real.played] == fast.rewards.tolist()
    assert [each.turns for each in real.played] == fast.turns.tolist()
    for index, each in enumerate(real.played):
        texts = [TEXTS[answer] for answer in fast.answers[index, : fast.turns[index]]]
        assert [text for text in each.response.split("<|im_end|>") if "<action>" in text] == [
            text if turn == 0 else f"\n<|im_start|>assistant\n{text}"
            for turn, text in enumerate(texts)
        ]


def test_sampling_follows_the_probabilities(policy: Policy) -> None:
    mazes = board(mazes_in(Stream(900).take(1)))
    log_probs = LogProbs(policy, mazes)
    episodes = roll(log_probs, mazes, samples=4000, turns=1, rng=np.random.default_rng(2))
    shares = np.bincount(episodes.answers[:, 0], minlength=5) / 4000
    expected = np.exp(log_probs.of(np.array([0]), mazes.starts))[0]
    np.testing.assert_allclose(shares, expected, atol=0.03)


def test_a_rollout_can_be_given_up_between_turns(policy: Policy) -> None:
    mazes = board(mazes_in(Stream(900).take(1)))

    def refuse() -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        roll(LogProbs(policy, mazes), mazes, samples=1, turns=2, rng=None, check=refuse)


def test_played_marks_the_turns_before_the_end() -> None:
    none = np.zeros((2, 3), np.int64)
    episodes = Episodes(1, none, none, np.array([1, 3]), np.zeros(2, np.float32))
    assert episodes.played.tolist() == [[True, False, False], [True, True, True]]
