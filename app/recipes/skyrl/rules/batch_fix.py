"""The nearest batch sizes that pass, as words and as values for the form."""

from collections.abc import Callable, Mapping
from typing import Any

from app.recipes.skyrl.rules import keys as k
from app.recipes.skyrl.rules.context import Context
from app.recipes.skyrl.rules.parallel import (
    Split,
    critic_split,
    has_critic,
    is_ref_used,
    policy_split,
    ref_split,
)
from app.recipes.skyrl.rules.sizes import (
    Batch,
    nearest_batches,
    nearest_critic_minis,
    nearest_micros,
    nearest_minis,
)
from app.recipes.skyrl.rules.view import Unfit, View

Changes = Mapping[str, Any]

_ALONE: dict[str, Callable[[Batch], list[int]]] = {
    k.MINI: nearest_minis,
    k.CRITIC_MINI: nearest_critic_minis,
    k.MICRO_TRAIN: nearest_micros,
}


def find_fix(at: View, context: Context, key: str) -> tuple[str | None, Changes | None]:
    """Words and values of the nearest sizes that pass V16, E1 and E2; (None, None) if none is near.

    `key` is changed alone where that is enough, else several sizes together.
    """
    try:
        found = near(read_batch(at, context), key)
    except Unfit:
        return None, None
    if not found:
        return None, None
    words = [" with ".join(f"{name} {value}" for name, value in each.items()) for each in found]
    return f"use {', or '.join(words)}", found[0]


def near(batch: Batch, key: str) -> list[Changes]:
    """Changes that make a batch fit, best first. Pure."""
    alone: list[Changes] = [{key: value} for value in _ALONE[key](batch)] if key in _ALONE else []
    return alone or [changes(batch, other) for other in nearest_batches(batch)]


def changes(batch: Batch, other: Batch) -> Changes:
    """The keys in which `other` differs, with its values."""
    pairs = (
        (k.TRAIN, batch.train, other.train),
        (k.MINI, batch.mini, other.mini),
        (k.MICRO_TRAIN, batch.micro, other.micro),
    )
    return {key: new for key, old, new in pairs if new != old}


def read_batch(at: View, context: Context) -> Batch:
    """The sizes as whole numbers. Raises `Unfit` if one is none."""
    critic = has_critic(at)
    return Batch(
        train=at.whole(k.TRAIN),
        mini=at.whole(k.MINI),
        micro=at.whole(k.MICRO_TRAIN),
        samples=at.whole(k.SAMPLES),
        dp=_whole(policy_split(at)),
        ref_dp=_whole(ref_split(at)) if is_ref_used(at) else None,
        critic_mini=at.whole(k.CRITIC_MINI) if critic else None,
        critic_dp=_whole(critic_split(at)) if critic else None,
        rows=None if context.train is None else context.train.rows,
    )


def _whole(split: Split) -> int:
    dp = split.dp
    if isinstance(dp, bool) or not isinstance(dp, int) or dp <= 0:
        raise Unfit(split.size_key)
    return dp
