"""The arithmetic of GRPO as SkyRL does it: scores, advantages, loss reduction, clipped loss, KL.

Source of the formulas: SkyRL commit a9564572 (`ppo_utils.py`, `trainer_utils.py`). Results of its
real functions: `tests/conformance/data/skyrl/grpo-cases.json`. Logarithms are natural.
"""

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worker.jobs.maze_grpo.vectors import Bools

Numbers = NDArray[np.floating[Any]]
Rewards = Sequence[float] | Sequence[Sequence[float]]

_STD_EPSILON = 1e-6
_MAX_LOG_RATIO = 20.0
_MAX_K3 = 10.0


class LossReduction(StrEnum):
    """How the token losses of a mini-batch become one number."""

    TOKEN_MEAN = "token_mean"  # noqa: S105 - a token of text
    TOKEN_MEAN_LEGACY = "token_mean_legacy"  # noqa: S105
    SEQUENCE_MEAN = "sequence_mean"
    SEQ_MEAN_TOKEN_SUM_NORM = "seq_mean_token_sum_norm"  # noqa: S105
    PROMPT_MEAN = "prompt_mean"


class PolicyLoss(StrEnum):
    REGULAR = "regular"
    DUAL_CLIP = "dual_clip"


class KlEstimator(StrEnum):
    K1 = "k1"
    ABS = "abs"
    K2 = "k2"
    K3 = "k3"


@dataclass(frozen=True, slots=True)
class Scores:
    """What SkyRL reports of a set of rollouts. `pass_at_n` is no solve rate: see `score`."""

    avg_score: float
    pass_at_n: float
    mean_positive_reward: float


@dataclass(frozen=True, slots=True)
class Clip:
    """Range [1 - low, 1 + high] of the ratio; `dual` bounds the loss of a bad token, or None."""

    low: float
    high: float
    dual: float | None = None


@dataclass(frozen=True, slots=True)
class Surrogate:
    """Token by token: the loss, its derivative by the log-probability, and whether it clips."""

    loss: Numbers
    slope: Numbers
    clipped: Bools


def score(rewards: Rewards, uids: Sequence[Hashable]) -> Scores:
    """Scores of rollouts with one reward each, or one for each token; `uids` name the prompts.

    A prompt passes if any of its rollouts ends in a token of positive reward.
    """
    tokens = [list(r) if isinstance(r, Sequence) else [r] for r in rewards]
    passed: dict[Hashable, bool] = defaultdict(bool)
    for uid, values in zip(uids, tokens, strict=True):
        passed[uid] |= values[-1] > 0
    return Scores(
        avg_score=float(np.mean([sum(values) for values in tokens])),
        pass_at_n=float(np.mean(list(passed.values()))),
        mean_positive_reward=float(np.mean([sum(max(v, 0) for v in row) for row in tokens])),
    )


def group_advantages(
    rewards: Numbers, uids: Sequence[Hashable], *, norm_by_std: bool = True
) -> Numbers:
    """Advantage of each rollout (n,) within its prompt's group: (r - mean) / (std + 1e-6).

    The deviation is the unbiased one. A rollout alone counts as having mean 0 and deviation 1.
    """
    groups: dict[Hashable, list[int]] = defaultdict(list)
    for index, uid in enumerate(uids):
        groups[uid].append(index)
    advantages = np.array(rewards, np.float64)
    for members in groups.values():
        alone = len(members) == 1
        values = advantages[members]
        centred = values - (0.0 if alone else values.mean())
        deviation = 1.0 if alone else values.std(ddof=1)
        advantages[members] = centred / (deviation + _STD_EPSILON) if norm_by_std else centred
    return advantages


def scale_advantages(
    advantages: Numbers,
    mask: Numbers,
    *,
    reduction: LossReduction,
    prompt_boundaries: Sequence[Sequence[int]],
    micro_batch_size: int,
    max_seq_len: int,
) -> Numbers:
    """Advantages (batch, length) so scaled that the plain sum of token losses is the reduced loss.

    `mask` is 1 where a token counts. `prompt_boundaries` are the half-open row ranges of the
    prompts. The micro batch matters to `token_mean_legacy` alone, `max_seq_len` to
    `seq_mean_token_sum_norm` alone.
    """
    rows, lengths = len(mask), mask.sum(1, keepdims=True)
    divisor: Numbers | float
    match reduction:
        case LossReduction.TOKEN_MEAN:
            divisor = float(mask.sum())
        case LossReduction.TOKEN_MEAN_LEGACY:
            micro = [(at, at + micro_batch_size) for at in range(0, rows, micro_batch_size)]
            divisor = len(micro) * _token_counts(lengths, micro)
        case LossReduction.SEQUENCE_MEAN:
            divisor = rows * lengths
        case LossReduction.SEQ_MEAN_TOKEN_SUM_NORM:
            divisor = rows * max_seq_len
        case LossReduction.PROMPT_MEAN:
            divisor = len(prompt_boundaries) * _token_counts(lengths, prompt_boundaries)
    return advantages / divisor


def surrogate(
    log_probs: Numbers, old_log_probs: Numbers, advantages: Numbers, *, clip: Clip
) -> Surrogate:
    """PPO's clipped loss of each token, −min(rA, clip(r)A) with r = exp(logp − old).

    With `clip.dual` a token of negative advantage costs at most −dual·A (Ye et al., 2020).
    """
    log_ratio = log_probs - old_log_probs
    ratio = np.exp(np.clip(log_ratio, -_MAX_LOG_RATIO, _MAX_LOG_RATIO))
    free = -ratio * advantages
    bounded = -np.clip(ratio, 1 - clip.low, 1 + clip.high) * advantages
    clipped = bounded > free
    loss = np.where(clipped, bounded, free)
    flat = clipped | (np.abs(log_ratio) > _MAX_LOG_RATIO)
    if clip.dual is not None:
        ceiling = -clip.dual * advantages
        capped = (advantages < 0) & (ceiling < loss)
        loss, flat = np.where(capped, ceiling, loss), flat | capped
    return Surrogate(loss, np.where(flat, 0, free), clipped)


def policy_loss(
    log_probs: Numbers, old_log_probs: Numbers, advantages: Numbers, mask: Numbers, *, clip: Clip
) -> tuple[float, float]:
    """Sum of the masked token losses, and the share of tokens that were clipped."""
    tokens = surrogate(log_probs, old_log_probs, advantages, clip=clip)
    return float((mask * tokens.loss).sum()), float((mask * tokens.clipped).sum() / mask.sum())


def kl_estimate(kind: KlEstimator, log_probs: Numbers, base_log_probs: Numbers) -> Numbers:
    """KL of the policy from its base by the log-probabilities of the tokens taken.

    Source: Schulman, "Approximating KL divergence" (2020).
    """
    gap = log_probs - base_log_probs
    match kind:
        case KlEstimator.K1:
            return gap
        case KlEstimator.ABS:
            return np.abs(gap)
        case KlEstimator.K2:
            return gap * gap / 2
        case KlEstimator.K3:
            back = np.clip(-gap, -_MAX_LOG_RATIO, _MAX_LOG_RATIO)
            return np.clip(np.exp(back) - back - 1, -_MAX_K3, _MAX_K3)


def kl_slope(kind: KlEstimator, log_probs: Numbers, base_log_probs: Numbers) -> Numbers:
    """The derivative of `kl_estimate` by `log_probs`."""
    gap = log_probs - base_log_probs
    match kind:
        case KlEstimator.K1:
            return np.ones_like(gap)
        case KlEstimator.ABS:
            return np.sign(gap)
        case KlEstimator.K2:
            return gap
        case KlEstimator.K3:
            inside = kl_estimate(kind, log_probs, base_log_probs) < _MAX_K3
            return np.where(inside, 1 - np.exp(np.clip(-gap, -_MAX_LOG_RATIO, _MAX_LOG_RATIO)), 0)


def _token_counts(lengths: Numbers, ranges: Sequence[Sequence[int]]) -> Numbers:
    """For each row (batch, 1) the tokens of the range of rows that it lies in."""
    counts = np.empty_like(lengths)
    for start, end in ranges:
        counts[start:end] = lengths[start:end].sum()
    return counts
