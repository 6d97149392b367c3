"""Layout of charts: groups, names, directions, order."""

import json

import pytest

from app.metrics.charts import HERO_KEY, ChartGroup, chart_for, charts_for, direction_of
from app.metrics.summaries import Direction
from tests.conformance.cases import case_files

SEEN_KEYS = sorted(
    key
    for sample in case_files("skyrl", "log-samples/expected.json")
    for key in json.loads(sample.read_text())["all_keys_seen"]
)


def test_the_solve_rate_comes_first() -> None:
    charts = charts_for(["timing/step", "eval/all/pass_at_1", HERO_KEY, "a", HERO_KEY])

    assert [chart.key for chart in charts] == [HERO_KEY, "eval/all/pass_at_1", "timing/step", "a"]
    assert [chart.is_hero for chart in charts] == [True, False, False, False]
    assert (charts[0].title, charts[0].unit) == ("Solve rate", "share")


@pytest.mark.parametrize("key", SEEN_KEYS)
def test_every_key_of_skyrl_has_a_place(key: str) -> None:
    chart = chart_for(key)

    assert chart.group is not ChartGroup.OTHER
    assert chart.title
    assert "solve" not in chart.title.lower()
    assert ("pass_at" in key) == ("pass_at" in chart.title)


def test_titles_are_distinct_within_a_group() -> None:
    titles = [(chart.group, chart.title) for chart in charts_for(SEEN_KEYS)]

    assert len(set(titles)) == len(titles)


@pytest.mark.parametrize(
    ("key", "group", "title", "unit"),
    [
        ("eval/all/pass_at_1", "eval", "pass_at_1", "share"),
        ("eval/unknown/pass_at_4", "eval", "pass_at_4 of unknown", "share"),
        ("reward/avg_pass_at_8", "reward", "pass_at_8 of training rollouts", "share"),
        ("loss/avg_kl", "policy", "loss/avg_kl", ""),
        ("environment/avg_step_count", "rollout", "Turns an episode", "turns"),
        ("timing/step", "timing", "Step", "seconds"),
        ("timing/update_ref_with_policy", "timing", "timing/update_ref_with_policy", "seconds"),
        ("vllm/train/generation_throughput_tok_s", "system", None, "tokens/s"),
        ("ray/node.0.gpu.0.util", "system", "ray/node.0.gpu.0.util", "%"),
        ("my_metric", "other", "my_metric", ""),
        ("<script>alert(2)</script>", "other", "<script>alert(2)</script>", ""),
        ("a//b", "other", "a//b", ""),
        ("toString/valueOf", "other", "toString/valueOf", ""),
        ("__proto__", "other", "__proto__", ""),
        ("nan", "other", "nan", ""),
        ("", "other", "", ""),
    ],
)
def test_known_and_unknown_keys(key: str, group: str, title: str | None, unit: str) -> None:
    chart = chart_for(key)

    assert (chart.group, chart.unit) == (group, unit)
    assert title is None or chart.title == title


@pytest.mark.parametrize(
    "key",
    [
        "timing/step",
        "policy/policy_loss",
        "policy/final_loss",
        "policy/policy_kl",
        "policy/grad_norm",
        "policy/loss_metrics/clip_ratio",
        "val_loss",
        "loss",
        "environment/avg_parse_failures",
        "vllm/train/num_requests_waiting",
        "vllm/train/ttft_seconds_avg",
        "ray/gpu.mem_used_gb.avg",
    ],
)
def test_smaller_is_better(key: str) -> None:
    assert direction_of(key) is Direction.MIN


@pytest.mark.parametrize(
    "key",
    [
        HERO_KEY,
        "eval/all/pass_at_1",
        "reward/avg_raw_reward",
        "loss/avg_final_rewards",
        "trainer/tokens_per_second_per_gpu",
        "environment/avg_format_success_rate",
        "anything_else",
    ],
)
def test_larger_is_better(key: str) -> None:
    assert direction_of(key) is Direction.MAX


def test_groups_have_labels() -> None:
    assert len({group.label for group in ChartGroup}) == len(ChartGroup)
