"""One GRPO update of the adapter from a batch of rollouts.

Tokens that share maze, state and answer share their probability, so their advantages are summed,
gains and losses apart: PPO's clipping treats the two alike within each sum, which makes the
gradient exact while the network sees each picture once instead of once a token.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from worker.jobs.maze_grpo import pixels
from worker.jobs.maze_grpo.config import Config
from worker.jobs.maze_grpo.grpo import (
    KlEstimator,
    LossReduction,
    Numbers,
    group_advantages,
    kl_estimate,
    kl_slope,
    scale_advantages,
    surrogate,
)
from worker.jobs.maze_grpo.lora import Lora
from worker.jobs.maze_grpo.mazes import STATES, Board
from worker.jobs.maze_grpo.model import ANSWERS, Policy
from worker.jobs.maze_grpo.optim import clip_norm, follow
from worker.jobs.maze_grpo.rollout import Episodes, LogProbs
from worker.jobs.maze_grpo.state import TrainState
from worker.jobs.maze_grpo.vectors import Arrays, Floats, Ints


@dataclass(frozen=True, slots=True)
class Rollouts:
    """What one step learns from. Sums of tokens are over the turns played."""

    mazes: Board
    episodes: Episodes
    log_probs: LogProbs
    """Of the policy that sampled, and of nothing newer."""
    advantages: Numbers
    """(episodes,)"""


@dataclass(frozen=True, slots=True)
class Tokens:
    """A mini-batch's tokens, summed by picture and answer. Arrays are (pictures, 5)."""

    rows: Ints
    states: Ints
    gains: Numbers
    losses: Numbers
    gain_counts: Numbers
    loss_counts: Numbers


class Learner:
    """Updates a `TrainState` in place."""

    def __init__(self, config: Config, *, lora: Lora, base: Arrays) -> None:
        self._config, self._lora, self._base = config, lora, base
        self._base_policy = Policy(base, temperature=config.temperature)

    def policy(self, state: TrainState) -> Policy:
        """The network that samples."""
        weights = self._lora.merge(self._base, state.adapter)
        return Policy(weights, temperature=self._config.temperature)

    def judge(self, mazes: Board, episodes: Episodes, log_probs: LogProbs) -> Rollouts:
        """Adds the advantages."""
        advantages = group_advantages(
            episodes.rewards, episodes.mazes.tolist(), norm_by_std=self._config.grpo_norm_by_std
        )
        return Rollouts(mazes, episodes, log_probs, advantages)

    def update(
        self, state: TrainState, rollouts: Rollouts, *, lr: float, check: Callable[[], None]
    ) -> dict[str, float]:
        """Runs all epochs and mini-batches; means over the updates by SkyRL's names.

        Groups of equal rewards teach nothing and are left out. `check` runs before each update
        and may raise.
        """
        sums = {"final_loss": 0.0, "policy_loss": 0.0, "grad_norm": 0.0}
        sums["loss_metrics/clip_ratio"] = 0.0
        if self._config.use_kl_loss:
            sums["policy_kl"] = 0.0
        updates = 0
        for members in self._mini_batches(state, rollouts.episodes):
            check()
            for name, value in self._update_once(state, rollouts, members, lr=lr).items():
                sums[name] += value
            updates += 1
        return {name: value / max(updates, 1) for name, value in sums.items()}

    def _mini_batches(self, state: TrainState, episodes: Episodes) -> Iterator[Ints]:
        """Mazes with mixed rewards, shuffled anew each epoch, a few at a time."""
        rewards = episodes.rewards.reshape(-1, episodes.samples)
        mixed = np.flatnonzero(rewards.min(1) != rewards.max(1))
        size = self._config.policy_mini_batch_size
        for _ in range(self._config.update_epochs_per_batch):
            order = state.rng.permutation(mixed)
            for start in range(0, len(order), size):
                yield order[start : start + size]

    def _update_once(
        self, state: TrainState, rollouts: Rollouts, members: Ints, *, lr: float
    ) -> dict[str, float]:
        config, policy = self._config, self.policy(state)
        tokens = self._tokens(rollouts, members)
        inputs = pixels.from_kinds(rollouts.mazes.kinds(tokens.rows, tokens.states))
        trace = policy.forward(inputs)
        old = rollouts.log_probs.of(tokens.rows, tokens.states)
        metrics, slope = self._loss(tokens, trace.log_probs, old)
        if config.use_kl_loss:
            slope += self._add_kl(metrics, tokens, trace.log_probs, inputs)
        d_logits = slope - np.exp(trace.log_probs) * slope.sum(1, keepdims=True)
        full = policy.backward(trace, d_logits.astype(np.float32))
        gradient = self._lora.gradient(state.adapter, full)
        metrics["grad_norm"] = clip_norm(gradient, config.max_grad_norm)
        state.adam.update(state.adapter.vector, gradient, lr=lr)
        follow(state.average.vector, state.adapter.vector, decay=config.ema_decay)
        return metrics

    def _loss(
        self, tokens: Tokens, log_probs: Floats, old: Floats
    ) -> tuple[dict[str, float], Numbers]:
        """Metrics, and the loss's derivative by the log-probabilities (pictures, 5)."""
        clip = self._config.clip
        gains = surrogate(log_probs, old, tokens.gains, clip=clip)
        losses = surrogate(log_probs, old, tokens.losses, clip=clip)
        loss = float(gains.loss.sum() + losses.loss.sum())
        clipped = (gains.clipped * tokens.gain_counts + losses.clipped * tokens.loss_counts).sum()
        total = tokens.gain_counts.sum() + tokens.loss_counts.sum()
        metrics = {
            "policy_loss": loss,
            "final_loss": loss,
            "loss_metrics/clip_ratio": float(clipped / total),
        }
        return metrics, gains.slope + losses.slope

    def _add_kl(
        self, metrics: dict[str, float], tokens: Tokens, log_probs: Floats, inputs: Floats
    ) -> Numbers:
        """Adds the KL term to `metrics`; its derivative by the log-probabilities."""
        kind = KlEstimator(self._config.kl_estimator_type)
        counts = tokens.gain_counts + tokens.loss_counts
        weights = counts / counts.sum()
        base = self._base_policy.log_probs(inputs)
        metrics["policy_kl"] = float((weights * kl_estimate(kind, log_probs, base)).sum())
        metrics["final_loss"] += self._config.kl_loss_coef * metrics["policy_kl"]
        slope: Numbers = self._config.kl_loss_coef * weights * kl_slope(kind, log_probs, base)
        return slope

    def _tokens(self, rollouts: Rollouts, members: Ints) -> Tokens:
        """The tokens of the episodes of mazes `members`, advantages scaled for the loss."""
        episodes, samples = rollouts.episodes, rollouts.episodes.samples
        chosen = (members[:, None] * samples + np.arange(samples)).ravel()
        played = episodes.played[chosen]
        scaled = scale_advantages(
            np.broadcast_to(rollouts.advantages[chosen][:, None], played.shape),
            played.astype(np.float64),
            reduction=LossReduction(self._config.loss_reduction),
            prompt_boundaries=[(i * samples, (i + 1) * samples) for i in range(len(members))],
            micro_batch_size=samples,
            max_seq_len=played.shape[1],
        )[played]
        mazes = np.repeat(members, samples)[:, None]
        places = (mazes * STATES + episodes.states[chosen])[played]
        answers = episodes.answers[chosen][played]
        return _summed(places, answers, scaled)


def entropy(rollouts: Rollouts) -> float:
    """Mean entropy, in nats, of the answers' distribution over the tokens played."""
    episodes = rollouts.episodes
    played = episodes.played
    rows = np.broadcast_to(episodes.mazes[:, None], played.shape)[played]
    log_probs = rollouts.log_probs.of(rows, episodes.states[played])
    return float(-(np.exp(log_probs) * log_probs).sum(1).mean())


def _summed(places: Ints, answers: Ints, advantages: Numbers) -> Tokens:
    pictures, picture = np.unique(places, return_inverse=True)
    keys = picture * ANSWERS + answers
    size = len(pictures) * ANSWERS

    def sums(weights: Numbers) -> Numbers:
        total: Numbers = np.bincount(keys, weights, minlength=size).astype(np.float64)
        return total.reshape(-1, ANSWERS)

    return Tokens(
        rows=pictures // STATES,
        states=pictures % STATES,
        gains=sums(np.maximum(advantages, 0)),
        losses=sums(np.minimum(advantages, 0)),
        gain_counts=sums((advantages > 0).astype(np.float64)),
        loss_counts=sums((advantages <= 0).astype(np.float64)),
    )
