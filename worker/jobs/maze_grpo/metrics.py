"""Metrics of rollouts by SkyRL's keys, and how many tokens a conversation counts.

An answer is one token and `<|im_end|>`. What the environment says in between is the chat
template's nine tokens, the feedback as one, and 16 visual tokens.
"""

import numpy as np

from worker.jobs.maze_grpo.grpo import Scores
from worker.jobs.maze_grpo.model import VISUAL_TOKENS
from worker.jobs.maze_grpo.vectors import Floats, Ints

ANSWER_TOKENS = 2
OBSERVATION_TOKENS = 10 + VISUAL_TOKENS

Values = dict[str, float | int]


def response_tokens(turns: Ints) -> Ints:
    """Tokens after the prompt of episodes of so many turns, observations included."""
    return ANSWER_TOKENS * turns + OBSERVATION_TOKENS * (turns - 1)


def token_rewards(turns: int, reward: float) -> list[float]:
    """The reward of each token of an episode's response: the last one gets it all."""
    return [0.0] * (int(response_tokens(np.array(turns))) - 1) + [float(reward)]


def generation(turns: Ints, rewards: Floats) -> Values:
    """`generate/…` and `environment/…` of episodes: turns and reward of each, (n,).

    No answer of this policy fails to parse.
    """
    lengths, answers = response_tokens(turns), ANSWER_TOKENS * turns
    paid = rewards > 0
    return {
        "generate/min_num_tokens": int(lengths.min()),
        "generate/max_num_tokens": int(lengths.max()),
        "generate/avg_num_tokens": float(lengths.mean()),
        "generate/std_num_tokens": float(lengths.std()),
        "generate/avg_tokens_non_zero_rewards": float(lengths[paid].mean()) if paid.any() else 0.0,
        "generate/avg_tokens_zero_rewards": 0.0 if paid.all() else float(lengths[~paid].mean()),
        "generate/avg_assistant_tokens": float(answers.mean()),
        "generate/min_assistant_tokens": int(answers.min()),
        "generate/max_assistant_tokens": int(answers.max()),
        "generate/std_assistant_tokens": float(answers.std()),
        "environment/avg_step_count": float(turns.mean()),
    }


def prefixed(prefix: str, values: Values) -> Values:
    """The same values under `<prefix>/<key>`."""
    return {f"{prefix}/{key}": value for key, value in values.items()}


def score_values(scores: Scores, *, samples: int) -> Values:
    """Scores by SkyRL's names; `pass_at_<samples>` counts prompts."""
    return {
        "avg_score": scores.avg_score,
        f"pass_at_{samples}": scores.pass_at_n,
        "mean_positive_reward": scores.mean_positive_reward,
    }
