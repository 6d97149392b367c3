import numpy as np
import pytest

from worker.jobs.maze_grpo.grpo import Scores
from worker.jobs.maze_grpo.metrics import generation, score_values, token_rewards


def test_tokens_are_counted_by_turns_and_outcome() -> None:
    values = generation(np.array([1, 15]), np.array([0, 1], np.float32))
    assert values["generate/min_num_tokens"] == 2
    assert values["generate/max_num_tokens"] == 394
    assert values["generate/avg_tokens_zero_rewards"] == 2
    assert values["generate/avg_tokens_non_zero_rewards"] == 394
    assert values["environment/avg_step_count"] == 8


@pytest.mark.parametrize(("reward", "kind"), [(1.0, "zero"), (0.0, "non_zero")])
def test_an_outcome_that_never_came_has_no_tokens(reward: float, kind: str) -> None:
    values = generation(np.array([3]), np.array([reward], np.float32))
    assert values[f"generate/avg_tokens_{kind}_rewards"] == 0.0


def test_the_last_token_gets_the_reward() -> None:
    assert token_rewards(1, 1.0) == [0.0, 1.0]
    assert len(token_rewards(3, 0.0)) == 58


def test_scores_are_named_by_the_number_of_samples() -> None:
    assert score_values(Scores(0.25, 0.5, 0.3), samples=8) == {
        "avg_score": 0.25,
        "pass_at_8": 0.5,
        "mean_positive_reward": 0.3,
    }
