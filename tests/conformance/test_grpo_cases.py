"""SkyRL's real functions on CPU: scores, advantages, loss reduction, clipped loss, KL."""

import json
import re
from typing import Any

import numpy as np
import pytest

from tests.conformance.cases import case_files
from worker.jobs.maze_grpo.grpo import (
    Clip,
    KlEstimator,
    LossReduction,
    PolicyLoss,
    group_advantages,
    kl_estimate,
    policy_loss,
    scale_advantages,
    score,
)

Case = dict[str, Any]
FILES = [json.loads(path.read_text()) for path in case_files("skyrl", "grpo-cases.json")]


def cases(kind: str) -> list[Case]:
    return [case for content in FILES for case in content[kind]]


def rewards_of(case: Case) -> list[Any]:
    """The rewards; where the recording only names them, so many ones, or the average for all."""
    if isinstance(case["rewards"], list):
        return case["rewards"]
    count = int(re.search(r"\((\d+)\)", case["rewards"])[1])  # type: ignore[index]
    if solved := re.match(r"(\d+) of \d+", case["name"]):
        ones = int(solved[1])
        return [1.0] * ones + [0.0] * (count - ones)
    return [case["avg_score"]] * count


@pytest.mark.parametrize("case", cases("advantages"), ids=lambda case: case["name"])
def test_advantages(case: Case) -> None:
    got = group_advantages(
        np.array(case["rewards"], np.float64), case["uids"], norm_by_std=case["grpo_norm_by_std"]
    )
    np.testing.assert_allclose(got, case["advantages"], atol=2e-6)


@pytest.mark.parametrize("case", cases("pass_at_n"), ids=lambda case: case["name"])
def test_scores(case: Case) -> None:
    rewards = rewards_of(case)
    uids = case["uids"] if isinstance(case["uids"], list) else [str(i) for i in range(len(rewards))]
    got = score(rewards, uids)
    assert got.avg_score == pytest.approx(case["avg_score"])
    assert got.pass_at_n == pytest.approx(case["pass_at_n"])
    assert got.mean_positive_reward == pytest.approx(case["mean_positive_reward"])


@pytest.mark.parametrize("case", cases("loss_reduction"), ids=lambda case: case["loss_reduction"])
def test_loss_reduction(case: Case) -> None:
    got = scale_advantages(
        np.array(case["advantages_in"]),
        np.array(case["loss_mask"]),
        reduction=LossReduction(case["loss_reduction"]),
        prompt_boundaries=case["prompt_boundaries"],
        micro_batch_size=case["micro_batch_size"],
        max_seq_len=case["max_seq_len"],
    )
    np.testing.assert_allclose(got, case["scaled"], rtol=1e-6)


@pytest.mark.parametrize("case", cases("ppo_loss"), ids=lambda case: case["policy_loss_type"])
def test_policy_loss(case: Case) -> None:
    is_dual = PolicyLoss(case["policy_loss_type"]) is PolicyLoss.DUAL_CLIP
    clip = Clip(
        case["eps_clip_low"], case["eps_clip_high"], case["clip_ratio_c"] if is_dual else None
    )
    loss, clip_ratio = policy_loss(
        np.array(case["log_probs"]),
        np.array(case["old_log_probs"]),
        np.array(case["advantages"]),
        np.array(case["loss_mask"]),
        clip=clip,
    )
    assert loss == pytest.approx(case["loss"], rel=1e-6)
    assert clip_ratio == pytest.approx(case["metrics"]["clip_ratio"])


@pytest.mark.parametrize("case", cases("kl"), ids=lambda case: case["kl_estimator_type"])
def test_kl(case: Case) -> None:
    got = kl_estimate(
        KlEstimator(case["kl_estimator_type"]),
        np.array(case["log_probs"], np.float32),
        np.array(case["log_probs_base"], np.float32),
    )
    np.testing.assert_allclose(got, case["kl"], rtol=1e-5)


def test_no_kind_of_case_is_left_out() -> None:
    known = {"meta", "advantages", "pass_at_n", "loss_reduction", "ppo_loss", "kl"}
    assert {kind for content in FILES for kind in content} == known
