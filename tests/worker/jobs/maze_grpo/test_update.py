from pathlib import Path

import numpy as np
import pytest

from worker.jobs.maze_grpo import pixels
from worker.jobs.maze_grpo.base import BASE_FILE
from worker.jobs.maze_grpo.config import Config, parse
from worker.jobs.maze_grpo.export import read_base
from worker.jobs.maze_grpo.grpo import (
    KlEstimator,
    LossReduction,
    Numbers,
    kl_estimate,
    policy_loss,
    scale_advantages,
)
from worker.jobs.maze_grpo.lora import Lora
from worker.jobs.maze_grpo.mazes import Stream, board, mazes_in
from worker.jobs.maze_grpo.model import Policy
from worker.jobs.maze_grpo.rollout import LogProbs, roll
from worker.jobs.maze_grpo.state import TrainState
from worker.jobs.maze_grpo.update import Learner, Rollouts, entropy
from worker.jobs.maze_grpo.vectors import Floats, Ints, pack

BASE, _ = read_base(BASE_FILE)
LORA = Lora(4, 4.0)


def config(*arguments: str) -> Config:
    return parse(arguments, run_folder=Path())


def started(seed: int) -> TrainState:
    """A state whose adapter has left the base, so that ratios differ from one."""
    state = TrainState.fresh(LORA, seed=seed, next_seed=0)
    rng = np.random.default_rng(seed)
    state.adapter.vector[...] += rng.standard_normal(len(state.adapter.vector)) * 0.02
    return state


def rollouts(learner: Learner, *, mazes: int = 6) -> Rollouts:
    """Sampled by the base, so that the state of `started` is off policy."""
    batch = board(mazes_in(Stream(40).take(mazes)))
    log_probs = LogProbs(Policy(BASE), batch)
    episodes = roll(log_probs, batch, samples=4, turns=15, rng=np.random.default_rng(3))
    return learner.judge(batch, episodes, log_probs)


def mixed(batch: Rollouts) -> Ints:
    rewards = batch.episodes.rewards.reshape(-1, batch.episodes.samples)
    return np.flatnonzero(rewards.min(1) != rewards.max(1))


def token_by_token_loss(settings: Config, batch: Rollouts, adapter: Floats) -> float:
    """The loss as SkyRL computes it: every token of the mixed groups on its own."""
    policy = Policy(LORA.merge(BASE, pack(LORA.shapes, adapter)))
    episodes, samples = batch.episodes, batch.episodes.samples
    groups = mixed(batch)
    chosen = np.concatenate([np.arange(g * samples, (g + 1) * samples) for g in groups])
    states, answers = episodes.states[chosen], episodes.answers[chosen]
    mask = episodes.played[chosen].astype(np.float64)
    rows = np.broadcast_to(episodes.mazes[chosen][:, None], states.shape)
    inputs = pixels.from_kinds(batch.mazes.kinds(rows.ravel(), states.ravel()))

    def of(values: Floats) -> Numbers:
        taken: Numbers = values[np.arange(answers.size), answers.ravel()].astype(np.float64)
        return taken.reshape(answers.shape)

    log_probs = of(policy.log_probs(inputs))
    scaled = scale_advantages(
        np.broadcast_to(batch.advantages[chosen][:, None], mask.shape),
        mask,
        reduction=LossReduction(settings.loss_reduction),
        prompt_boundaries=[(i * samples, (i + 1) * samples) for i in range(len(groups))],
        micro_batch_size=samples,
        max_seq_len=mask.shape[1],
    )
    old = of(Policy(BASE).log_probs(inputs))
    loss, _ = policy_loss(log_probs, old, scaled, mask, clip=settings.clip)
    if settings.use_kl_loss:
        kl = kl_estimate(KlEstimator(settings.kl_estimator_type), log_probs, old)
        loss += settings.kl_loss_coef * float((mask * kl).sum() / mask.sum())
    return loss


@pytest.mark.parametrize(
    "argument",
    [
        "trainer.algorithm.policy_loss_type=regular",
        "trainer.algorithm.policy_loss_type=dual_clip",
        *(f"trainer.algorithm.loss_reduction={reduction}" for reduction in LossReduction),
        *(f"trainer.algorithm.kl_estimator_type={kind}" for kind in KlEstimator),
    ],
)
def test_summed_tokens_give_the_loss_and_gradient_of_all_tokens(argument: str) -> None:
    settings = config(
        argument,
        f"trainer.algorithm.use_kl_loss={str('kl_' in argument).lower()}",
        "trainer.algorithm.kl_loss_coef=0.5",
        "trainer.policy_mini_batch_size=100",
        "trainer.update_epochs_per_batch=1",
        "trainer.policy.optimizer_config.max_grad_norm=1e9",
    )
    learner, state = Learner(settings, lora=LORA, base=BASE), started(2)
    batch, before = rollouts(learner), state.adapter.vector.copy()
    metrics = learner.update(state, batch, lr=1e-6, check=lambda: None)
    assert metrics["final_loss"] == pytest.approx(
        token_by_token_loss(settings, batch, before), rel=1e-3, abs=1e-5
    )
    gradient = state.adam.first / np.float32(0.1)
    direction = gradient / np.linalg.norm(gradient)
    ahead, behind = (
        token_by_token_loss(settings, batch, (before + step * direction).astype(np.float32))
        for step in (5e-4, -5e-4)
    )
    measured = (ahead - behind) / 1e-3
    assert measured == pytest.approx(metrics["grad_norm"], rel=0.05)


def test_clipped_share_counts_tokens() -> None:
    wide = config("trainer.algorithm.eps_clip_low=1", "trainer.algorithm.eps_clip_high=100")
    narrow = config("trainer.algorithm.eps_clip_low=0", "trainer.algorithm.eps_clip_high=0")
    shares = []
    for settings in (wide, narrow):
        learner = Learner(settings, lora=LORA, base=BASE)
        metrics = learner.update(started(2), rollouts(learner), lr=1e-6, check=lambda: None)
        shares.append(metrics["loss_metrics/clip_ratio"])
    assert shares[0] == 0
    assert 0.2 < shares[1] < 0.8


def test_groups_of_equal_rewards_are_left_out() -> None:
    learner, state = Learner(config(), lora=LORA, base=BASE), started(2)
    batch = rollouts(learner)
    batch.episodes.rewards[...] = 1
    equal = learner.judge(batch.mazes, batch.episodes, batch.log_probs)
    before = state.adapter.vector.copy()
    metrics = learner.update(state, equal, lr=1e-3, check=lambda: None)
    assert np.array_equal(state.adapter.vector, before)
    assert (state.adam.updates, metrics["grad_norm"]) == (0, 0.0)


def test_an_update_makes_good_answers_likelier_and_moves_the_mean() -> None:
    settings = config("trainer.update_epochs_per_batch=1")
    learner = Learner(settings, lora=LORA, base=BASE)
    state = TrainState.fresh(LORA, seed=4, next_seed=0)
    batch = rollouts(learner, mazes=16)
    before = token_by_token_loss(settings, batch, state.adapter.vector)
    learner.update(state, batch, lr=2e-3, check=lambda: None)
    assert token_by_token_loss(settings, batch, state.adapter.vector) < before
    assert state.adam.updates == -(-len(mixed(batch)) // 8)
    assert not np.array_equal(state.average.vector, state.adapter.vector)


def test_entropy_is_the_mean_over_tokens() -> None:
    learner = Learner(config(), lora=LORA, base=BASE)
    batch = rollouts(learner)
    values = [
        float(-(np.exp(row) * row).sum())
        for episode, maze in enumerate(batch.episodes.mazes)
        for row in batch.log_probs.of(
            np.full(batch.episodes.turns[episode], maze),
            batch.episodes.states[episode, : batch.episodes.turns[episode]],
        )
    ]
    assert entropy(batch) == pytest.approx(np.mean(values), rel=1e-4)
