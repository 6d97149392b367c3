"""V16, E1, E2: sizes of batches, mini-batches and micro-batches (`validate_batch_sizes`)."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import lcm
from typing import Any

from app.recipes.skyrl.rules import keys as k
from app.recipes.skyrl.rules.batch_fix import find_fix, read_batch
from app.recipes.skyrl.rules.context import Context
from app.recipes.skyrl.rules.parallel import (
    critic_split,
    has_critic,
    is_ref_used,
    policy_split,
    ref_split,
    splits,
)
from app.recipes.skyrl.rules.registry import Flaw, Kind, rule
from app.recipes.skyrl.rules.view import View, counted, shown

_POLICY_KEYS = (k.MINI, k.SAMPLES, k.NODES, k.GPUS)
_CRITIC_KEYS = (k.CRITIC_MINI, k.SAMPLES, k.CRITIC_NODES, k.CRITIC_GPUS)


@dataclass(frozen=True, slots=True)
class _Side:
    """The policy or the critic, as raw values. `dp` is None where it cannot be computed."""

    mini_key: str
    keys: tuple[str, ...]
    mini: Any
    dp: Any

    @property
    def can_be_shared(self) -> bool:
        return self.dp is not None and self.dp != 0


@rule(Kind.REFUSED, "V16.train_at_least_mini", k.TRAIN, k.MINI)
def train_at_least_mini(at: View, context: Context) -> Iterator[Flaw]:
    train = at.get(k.TRAIN)
    for side in _sides(at):
        if not train >= side.mini:
            yield _flaw(
                at,
                context,
                f"{k.TRAIN} {shown(train)} is smaller than {side.mini_key} {shown(side.mini)}",
                k.TRAIN,
                side.mini_key,
            )


@rule(Kind.REFUSED, "V16.mini_positive", k.MINI)
def mini_positive(at: View, context: Context) -> Iterator[Flaw]:
    for side in _sides(at):
        if not side.mini > 0:
            message = f"{side.mini_key} must be above 0, not {shown(side.mini)}"
            yield _flaw(at, context, message, side.mini_key)


@rule(Kind.REFUSED, "V16.micro_train_positive", k.MICRO_TRAIN)
def micro_train_positive(at: View, context: Context) -> Iterator[Flaw]:
    micro = at.get(k.MICRO_TRAIN)
    if not micro > 0:
        message = f"{k.MICRO_TRAIN} must be above 0, not {shown(micro)}"
        yield _flaw(at, context, message, k.MICRO_TRAIN)


@rule(Kind.REFUSED, "V16.micro_forward_positive", k.MICRO_FORWARD)
def micro_forward_positive(at: View, _: Context) -> Iterator[Flaw]:
    micro = at.get(k.MICRO_FORWARD)
    if not micro > 0:
        yield Flaw(
            message=f"{k.MICRO_FORWARD} must be above 0, not {shown(micro)}",
            fix="use 1",
            fix_values={k.MICRO_FORWARD: 1},
        )


@rule(Kind.REFUSED, "V16.dp_size", k.NODES, k.GPUS, k.POLICY_SP)
def dp_size(at: View, _: Context) -> Iterator[Flaw]:
    for split in splits(at):
        copies = split.dp
        if copies is None:
            yield Flaw(
                message=f"{split.size_key} must not be 0",
                fix="use 1",
                fix_values={split.size_key: 1},
                fields=(split.size_key,),
            )
        elif split.is_shared and copies == 0:
            yield Flaw(
                message=f"{shown(split.world)} GPUs ({split.nodes_key} × {split.gpus_key}) do not "
                f"hold one copy of the model over {split.size_key} {shown(split.size)} GPUs",
                fix=f"use {split.size_key} 1, or more GPUs",
                fields=(split.nodes_key, split.gpus_key, split.size_key),
            )


@rule(Kind.REFUSED, "V16.train_divides_mini", k.TRAIN, k.MINI)
def train_divides_mini(at: View, context: Context) -> Iterator[Flaw]:
    train = at.get(k.TRAIN)
    for side in _sides(at):
        if side.mini != 0 and train >= side.mini and train % side.mini != 0:
            yield _flaw(
                at,
                context,
                f"{k.TRAIN} {shown(train)} cannot be divided into mini-batches of "
                f"{shown(side.mini)} ({side.mini_key}): {shown(train)} mod {shown(side.mini)} = "
                f"{shown(train % side.mini)}",
                k.TRAIN,
                side.mini_key,
            )


@rule(Kind.REFUSED, "V16.mini_covers_gpus", *_POLICY_KEYS)
def mini_covers_gpus(at: View, context: Context) -> Iterator[Flaw]:
    samples = at.get(k.SAMPLES)
    for side in _sides(at):
        if not side.mini > 0 or not side.can_be_shared:
            continue
        if not counted(side.mini, samples) // side.dp > 0:
            yield _flaw(
                at,
                context,
                f"A mini-batch of {shown(side.mini)} prompts × {shown(samples)} samples is less "
                f"than one sample for each of {shown(side.dp)} data parallel GPUs",
                side.mini_key,
                *side.keys[1:],
            )


@rule(Kind.REFUSED, "V16.mini_divides_micro", k.MICRO_TRAIN, *_POLICY_KEYS)
def mini_divides_micro(at: View, context: Context) -> Iterator[Flaw]:
    micro, samples = at.get(k.MICRO_TRAIN), at.get(k.SAMPLES)
    for side in _sides(at):
        each = _per_gpu(side, side.mini, samples)
        if each is not None and micro != 0 and (each % micro != 0 or not each // micro > 0):
            yield _flaw(
                at,
                context,
                f"{_formula(side, side.mini, samples)} samples a GPU in a mini-batch cannot be "
                f"divided into micro-batches of {shown(micro)} ({k.MICRO_TRAIN})",
                k.MICRO_TRAIN,
                *side.keys,
            )


@rule(Kind.REFUSED, "V16.train_divides_mini_per_gpu", k.TRAIN, *_POLICY_KEYS)
def train_divides_mini_per_gpu(at: View, context: Context) -> Iterator[Flaw]:
    train, samples = at.get(k.TRAIN), at.get(k.SAMPLES)
    for side in _sides(at):
        each = _per_gpu(side, side.mini, samples)
        if each is None or side.mini == 0 or train % side.mini != 0:
            continue
        if counted(train, samples) // side.dp % each != 0:
            yield _flaw(
                at,
                context,
                f"{_formula(side, train, samples)} samples a GPU in a batch cannot be divided "
                f"into mini-batches of {_formula(side, side.mini, samples)}; both are rounded down",
                k.TRAIN,
                *side.keys,
            )


@rule(Kind.REFUSED, "V16.train_covers_dp", k.TRAIN, k.SAMPLES, k.NODES, k.GPUS)
def train_covers_dp(at: View, context: Context) -> Iterator[Flaw]:
    made, least = counted(at.get(k.TRAIN), at.get(k.SAMPLES)), _least(at)
    if least is not None and not made >= least:
        yield _flaw(
            at,
            context,
            f"{k.TRAIN} × {k.SAMPLES} = {shown(made)} samples are fewer than {shown(least)}, the "
            "least common multiple of the data parallel sizes",
            k.TRAIN,
            k.SAMPLES,
            k.NODES,
            k.GPUS,
        )


@rule(Kind.FAILS, "E1.whole_strides", k.TRAIN, k.SAMPLES, k.NODES, k.GPUS)
def whole_strides(at: View, context: Context) -> Iterator[Flaw]:
    batch = read_batch(at, context)
    if batch.train > 0 and batch.train % batch.stride != 0:
        kept = batch.train // batch.stride * batch.stride
        yield _flaw(
            at,
            context,
            f"{k.TRAIN} {batch.train} does not divide over {batch.parallel} GPUs with "
            f"{batch.samples} samples: only multiples of {batch.stride} prompts "
            f"({batch.parallel} / gcd({batch.parallel}, {batch.samples})) do. SkyRL would keep "
            f"{kept} prompts and stop at step 1, after the first evaluation, without a message",
            k.TRAIN,
            k.SAMPLES,
            k.NODES,
            k.GPUS,
        )


@rule(Kind.FAILS, "E2.rows_cover_batch", k.TRAIN)
def rows_cover_batch(at: View, context: Context) -> Iterator[Flaw]:
    train = at.whole(k.TRAIN)
    if context.train is not None and context.train.rows < train:
        yield _flaw(
            at,
            context,
            f"{k.TRAIN} {train} is more than the {context.train.rows} rows of the training data: "
            "SkyRL stops when it loads them",
            k.TRAIN,
        )


def _sides(at: View) -> Iterator[_Side]:
    yield _Side(k.MINI, _POLICY_KEYS, at.get(k.MINI), policy_split(at).dp)
    if has_critic(at):
        yield _Side(k.CRITIC_MINI, _CRITIC_KEYS, at.get(k.CRITIC_MINI), critic_split(at).dp)


def _least(at: View) -> Any:
    """What SkyRL wants at least in samples of a batch; None where it fails before that."""
    policy, ref = policy_split(at).dp, ref_split(at).dp
    if policy is None or ref is None:
        return None
    return lcm(policy, ref) if is_ref_used(at) else policy


def _per_gpu(side: _Side, prompts: Any, samples: Any) -> Any:
    """Samples a GPU, rounded down; None where another rule has said that there are none."""
    if not side.can_be_shared:
        return None
    each = counted(prompts, samples) // side.dp
    return each if each > 0 else None


def _formula(side: _Side, prompts: Any, samples: Any) -> str:
    each = counted(prompts, samples) // side.dp
    return f"{shown(prompts)} × {shown(samples)} / {shown(side.dp)} = {shown(each)}"


def _flaw(at: View, context: Context, message: str, *fields: str) -> Flaw:
    fix, values = (None, None) if at.is_trial else find_fix(at, context, fields[0])
    return Flaw(message=message, fields=fields, fix=fix, fix_values=values)
