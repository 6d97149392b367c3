"""Layout of charts as data: for each metric key its group, title, unit, direction and place.

Known keys are SkyRL's (`Tracking` of the trainer) and our own `skydeck/…`. Any other key is its
own title, letter for letter, with a place after the known ones: no metric is left out or renamed.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from app.metrics.summaries import Direction

HERO_KEY = "skydeck/eval/solve_rate"


class ChartGroup(StrEnum):
    """Groups in the order in which a run's page shows them."""

    EVAL = "eval"
    REWARD = "reward"
    POLICY = "policy"
    ROLLOUT = "rollout"
    TIMING = "timing"
    SYSTEM = "system"
    OTHER = "other"

    @property
    def label(self) -> str:
        return _GROUP_LABELS[self]


@dataclass(frozen=True, slots=True)
class ChartSpec:
    """How to draw one key. `unit` is empty for plain numbers; `order` sorts within a page."""

    key: str
    group: ChartGroup
    title: str
    unit: str
    direction: Direction
    order: tuple[int, int, str]

    @property
    def is_hero(self) -> bool:
        return self.key == HERO_KEY


def chart_for(key: str) -> ChartSpec:
    """The chart of any key."""
    group = _group_of(key)
    rank, title, unit = _known(key)
    return ChartSpec(
        key=key,
        group=group,
        title=title or key,
        unit=unit or _unit_of(key),
        direction=direction_of(key),
        order=(_GROUP_ORDER[group], rank, key),
    )


def charts_for(keys: Iterable[str]) -> list[ChartSpec]:
    """The charts of `keys` in the order of the page, the hero first where it is there."""
    return sorted((chart_for(key) for key in set(keys)), key=lambda chart: chart.order)


@lru_cache(maxsize=65_536)
def direction_of(key: str) -> Direction:
    """Which way `key` is better.

    Smaller is better for what costs (time, memory, queues), what fails (parse failures, clipped
    shares) and what measures a distance (losses, divergences, errors). All else, rewards and
    rates above all, counts as better when larger; so does a key that nobody knows.
    """
    return Direction.MIN if _SMALLER_IS_BETTER.search(key) else Direction.MAX


_GROUP_LABELS = {
    ChartGroup.EVAL: "Evaluation",
    ChartGroup.REWARD: "Reward",
    ChartGroup.POLICY: "Policy",
    ChartGroup.ROLLOUT: "Rollout",
    ChartGroup.TIMING: "Timing",
    ChartGroup.SYSTEM: "System",
    ChartGroup.OTHER: "Other",
}
_GROUP_ORDER = {group: index for index, group in enumerate(ChartGroup)}
_GROUP_OF_PREFIX = {
    "eval": ChartGroup.EVAL,
    "reward": ChartGroup.REWARD,
    "policy": ChartGroup.POLICY,
    "critic": ChartGroup.POLICY,
    "loss": ChartGroup.POLICY,
    "generate": ChartGroup.ROLLOUT,
    "environment": ChartGroup.ROLLOUT,
    "timing": ChartGroup.TIMING,
    "trainer": ChartGroup.SYSTEM,
    "ray": ChartGroup.SYSTEM,
    "vllm": ChartGroup.SYSTEM,
}
_UNKNOWN_RANK = 1_000

# In the order of the page. pass_at_k keeps its own name: it counts episodes whose last reward is
# above zero, which format credit alone can earn, so it is not the solve rate.
_KNOWN: tuple[tuple[str, str, str], ...] = (
    (HERO_KEY, "Solve rate", "share"),
    (r"eval/all/(pass_at_\d+)", r"\1", "share"),
    (r"eval/all/avg_score", "Mean score", ""),
    (r"eval/all/mean_positive_reward", "Mean positive reward", ""),
    (r"eval/([^/]+)/(pass_at_\d+)", r"\2 of \1", "share"),
    (r"eval/([^/]+)/avg_score", r"Mean score of \1", ""),
    (r"eval/([^/]+)/mean_positive_reward", r"Mean positive reward of \1", ""),
    (r"reward/avg_raw_reward", "Mean reward", ""),
    (r"reward/(?:avg_)?(pass_at_\d+)", r"\1 of training rollouts", "share"),
    (r"reward/mean_positive_reward", "Mean positive reward", ""),
    (r"policy/policy_loss", "Policy loss", ""),
    (r"policy/final_loss", "Final loss", ""),
    (r"policy/policy_kl", "KL to the reference", "nats"),
    (r"policy/policy_entropy", "Entropy", "nats"),
    (r"policy/grad_norm", "Gradient norm", ""),
    (r"policy/policy_lr", "Learning rate", ""),
    (r"policy/loss_metrics/clip_ratio", "Clipped share", "share"),
    (r"policy/response_length", "Response length", "tokens"),
    (r"environment/avg_step_count", "Turns an episode", "turns"),
    (r"environment/avg_parse_failures", "Parse failures an episode", "turns"),
    (r"environment/avg_format_success_rate", "Well-formed turns", "share"),
    (r"generate/avg_num_tokens", "Response tokens, mean", "tokens"),
    (r"generate/avg_assistant_tokens", "Assistant tokens, mean", "tokens"),
    (r"timing/step", "Step", "seconds"),
    (r"timing/generate", "Generation", "seconds"),
    (r"timing/train_critic_and_policy", "Training", "seconds"),
    (r"timing/policy_train", "Policy training", "seconds"),
    (r"timing/sync_weights", "Weight sync", "seconds"),
    (r"timing/eval", "Evaluation", "seconds"),
    (r"timing/save_checkpoints", "Saving checkpoints", "seconds"),
    (r"timing/save_hf_model", "Saving the export", "seconds"),
    (r"trainer/tokens_per_second_per_gpu", "Tokens a second and GPU", "tokens/s"),
    (r"trainer/epoch", "Epoch", ""),
    (r"trainer/global_step", "Global step", ""),
    (r"ray/gpu\.util\.avg", "GPU utilisation, mean", "%"),
    (r"ray/gpu\.mem_used_gb\.avg", "GPU memory, mean", "GB"),
    (r"ray/cpu_ram_used_gb\.avg", "Host memory, mean", "GB"),
)
_KNOWN_PATTERNS = tuple((re.compile(pattern), title, unit) for pattern, title, unit in _KNOWN)

_UNITS = tuple(
    (re.compile(pattern), unit)
    for pattern, unit in (
        (r"^timing/|_seconds(?:_|$)|trajectory_time", "seconds"),
        (r"throughput_tok_s$|tokens_per_second", "tokens/s"),
        (r"tokens|seq_len|response_length", "tokens"),
        (r"_gb(?:\.|$)", "GB"),
        (r"gpu\.(?:\d+\.)?util", "%"),
        (r"pass_at_\d+$|_rate$|_ratio$|_perc$", "share"),
        (r"step_count$|_successes$|_failures$", "turns"),
    )
)
_SMALLER_IS_BETTER = re.compile(
    r"^timing/"
    r"|(?:^|[/_.])(?:kl|error|errors|perplexity|latency|failures|failed|waiting)(?:$|[/_.])"
    r"|(?:^|[/_.])loss$"
    r"|_abs_diff_|clip_ratio|grad_norm|_seconds(?:_|$)|trajectory_time|mem_used|ram_used"
    r"|padded|padding|kv_cache_usage"
)


def _group_of(key: str) -> ChartGroup:
    head, _, rest = key.partition("/")
    if head == "skydeck":
        head = rest.partition("/")[0]
    return _GROUP_OF_PREFIX.get(head, ChartGroup.OTHER)


def _known(key: str) -> tuple[int, str, str]:
    for rank, (pattern, title, unit) in enumerate(_KNOWN_PATTERNS):
        if match := pattern.fullmatch(key):
            return rank, match.expand(title), unit
    return _UNKNOWN_RANK, "", ""


def _unit_of(key: str) -> str:
    return next((unit for pattern, unit in _UNITS if pattern.search(key)), "")
