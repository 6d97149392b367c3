"""V24, E3, E7 to E9: which model runs on which GPUs, and whether the cluster has them."""

from collections.abc import Iterator, Mapping
from typing import Any

from app.recipes.skyrl.rules import keys as k
from app.recipes.skyrl.rules.batch_fix import changes, read_batch
from app.recipes.skyrl.rules.context import ClusterResources, Context
from app.recipes.skyrl.rules.parallel import (
    Split,
    critic_split,
    is_megatron,
    is_ref_used,
    policy_split,
    ref_split,
    rollout_gpus,
    strategy,
)
from app.recipes.skyrl.rules.registry import Flaw, Kind, fix_passes, rule
from app.recipes.skyrl.rules.sizes import nearest_batches
from app.recipes.skyrl.rules.view import Unfit, View, shown

Changes = Mapping[str, Any]
ABOUT_CLUSTER = frozenset({"E9.cluster_gpus", "E9.node_gpus"})
"""Rules about the cluster: another one may well run the same values."""

_MOST_NODES = 64


@rule(Kind.REFUSED, "V24.rollout_gpus", k.NODES, k.GPUS, k.ENGINES, k.TENSOR, k.PIPELINE, k.DATA)
def rollout_equals_policy(at: View, context: Context) -> Iterator[Flaw]:
    if not at.get(k.COLOCATE):
        return
    policy, rollout = policy_split(at).world, rollout_gpus(at)
    if policy == rollout:
        return
    values = _first_passing(at, context, _equal_gpus(at), "V24.rollout_gpus")
    yield Flaw(
        message=f"Co-located, training and rollout use the same GPUs: {k.NODES} × {k.GPUS} = "
        f"{shown(policy)} must equal {k.ENGINES} × tensor × pipeline × data parallel = "
        f"{shown(rollout)}",
        fix=_words(values),
        fix_values=values,
    )


@rule(Kind.REFUSED, "V24.ref_beside_policy", k.REF_NODES, k.REF_GPUS, k.NODES, k.GPUS)
def ref_beside_policy(at: View, _: Context) -> Iterator[Flaw]:
    if at.get(k.COLOCATE) or not at.get(k.COLOCATE_REF) or not is_ref_used(at):
        return
    pairs = ((k.REF_NODES, k.NODES), (k.REF_GPUS, k.GPUS))
    wrong = {ref: at.get(own) for ref, own in pairs if at.get(ref) != at.get(own)}
    if wrong:
        said = ", ".join(f"{key} {shown(at.get(key))}" for key in wrong)
        yield Flaw(
            message=f"With {k.COLOCATE_REF} the reference model lies on the policy's GPUs, but "
            f"{said} differs from the policy's {', '.join(map(shown, wrong.values()))}",
            fix=_words(wrong),
            fix_values=wrong,
            fields=tuple(wrong),
        )


@rule(Kind.FAILS, "E3.ref_gpus", k.REF_NODES, k.REF_GPUS)
def ref_gpus(at: View, _: Context) -> Iterator[Flaw]:
    if at.get(k.COLOCATE) and is_ref_used(at):
        yield from _same_gpus(at, ref_split(at), "the reference model (KL is on)")


@rule(Kind.FAILS, "E3.critic_gpus", k.CRITIC_NODES, k.CRITIC_GPUS)
def critic_gpus(at: View, _: Context) -> Iterator[Flaw]:
    if at.get(k.COLOCATE) and at.get(k.CRITIC):
        yield from _same_gpus(at, critic_split(at), "the critic")


@rule(Kind.FAILS, "E7.strategy", k.STRATEGY)
def known_strategy(at: View, _: Context) -> Iterator[Flaw]:
    if strategy(at) not in ("fsdp", "megatron"):
        yield Flaw(
            message=f"{k.STRATEGY} must be fsdp or megatron, not {shown(strategy(at))}: SkyRL "
            "stops when it builds the models",
            fix="use fsdp",
            fix_values={k.STRATEGY: "fsdp"},
        )


@rule(Kind.FAILS, "E8.sequence_parallel", k.POLICY_SP, k.REF_SP, k.CRITIC_SP)
def whole_sequence_parallel(at: View, _: Context) -> Iterator[Flaw]:
    for split in _used_splits(at):
        world, size = split.world, split.size
        if isinstance(size, int) and size > 0 and world % size != 0:
            near = _divisors_near(world, size)
            yield Flaw(
                message=f"{shown(world)} GPUs ({split.nodes_key} × {split.gpus_key}) cannot be "
                f"divided by {split.size_key} {size}: SkyRL rounds {world} / {size} down to "
                f"{world // size} and {world % size} GPUs get no part of their own",
                fix=f"use {' or '.join(map(str, near))}",
                fix_values={split.size_key: near[0]},
                fields=(split.size_key, split.nodes_key, split.gpus_key),
            )


@rule(Kind.FAILS, "E9.cluster_gpus", k.NODES, k.GPUS, k.ENGINES)
def cluster_gpus(at: View, context: Context) -> Iterator[Flaw]:
    if context.cluster is None:
        return
    parts = gpus_by_part(at)
    needed, cluster = sum(parts.values()), context.cluster
    if needed <= cluster.gpus:
        return
    values = _first_passing(at, context, _smaller(at, context, cluster), "E9.cluster_gpus")
    said = " + ".join(f"{count} for {part}" for part, count in parts.items())
    yield Flaw(
        message=f"The run needs {needed} GPUs ({said}), {cluster.name} has {cluster.gpus}: after "
        "SKYRL_RAY_PG_TIMEOUT_IN_S seconds SkyRL stops with “Failed to create placement group”",
        fix=_words(values) or "choose a larger cluster, or fewer nodes and engines",
        fix_values=values,
    )


@rule(Kind.FAILS, "E9.node_gpus", k.GPUS)
def node_gpus(at: View, context: Context) -> Iterator[Flaw]:
    """Co-located, bundles are of one GPU and lie anywhere; else one bundle must fit a node."""
    cluster, gpus, nodes = context.cluster, at.whole(k.GPUS), at.whole(k.NODES)
    if cluster is None or gpus * nodes > cluster.gpus:
        return
    places = sum(each // gpus for each in cluster.gpus_by_node) if gpus > 0 else nodes
    if places < nodes:
        most = cluster.largest_node
        yield Flaw(
            message=f"{k.NODES} {nodes} × {k.GPUS} {gpus} wants {nodes} nodes with {gpus} free "
            f"GPUs each; {cluster.name} has room for {places}, its largest node has {most}",
            fix="use the GPUs of a node and as many nodes as there are",
            fix_values=_first_passing(at, context, _smaller(at, context, cluster), "E9.node_gpus"),
        )


def gpus_by_part(at: View) -> dict[str, int]:
    """GPUs that a run asks of its cluster, by what they are for. Raises `Unfit`."""
    if at.get(k.COLOCATE):
        return {"training and rollout": _whole(policy_split(at))}
    parts = {"training": _whole(policy_split(at))}
    if is_ref_used(at) and not at.get(k.COLOCATE_REF):
        parts["the reference model"] = _whole(ref_split(at))
    if at.get(k.CRITIC):
        parts["the critic"] = _whole(critic_split(at))
    if at.get(k.RUN_LOCALLY):
        engines = [at.whole(key) for key in (k.ENGINES, k.TENSOR, k.PIPELINE, k.DATA)]
        parts["rollout"] = engines[0] * engines[1] * engines[2] * engines[3]
    return parts


def _same_gpus(at: View, split: Split, what: str) -> Iterator[Flaw]:
    policy = policy_split(at).world
    if split.world != policy:
        values = {split.nodes_key: at.get(k.NODES), split.gpus_key: at.get(k.GPUS)}
        yield Flaw(
            message=f"Co-located, {what} needs as many GPUs as the policy: {split.nodes_key} × "
            f"{split.gpus_key} = {shown(split.world)}, {k.NODES} × {k.GPUS} = {shown(policy)}",
            fix=_words(values),
            fix_values=values,
        )


def _used_splits(at: View) -> Iterator[Split]:
    if is_megatron(at):
        return
    yield policy_split(at)
    if is_ref_used(at):
        yield ref_split(at)
    if at.get(k.CRITIC):
        yield critic_split(at)


def _equal_gpus(at: View) -> Iterator[Changes]:
    """Engines that fill the policy's GPUs, else as few GPUs an engine as that takes."""
    policy = _whole(policy_split(at))
    for tensor in (at.whole(k.TENSOR), *_divisors_near(policy, at.whole(k.TENSOR)), 1):
        each = tensor * at.whole(k.PIPELINE) * at.whole(k.DATA)
        if each > 0 and policy % each == 0 and policy > 0:
            yield _differing(at, {k.ENGINES: policy // each, k.TENSOR: tensor})
    if policy > 0:
        yield _differing(at, {k.ENGINES: policy, k.TENSOR: 1, k.PIPELINE: 1, k.DATA: 1})


def _smaller(at: View, context: Context, cluster: ClusterResources) -> Iterator[Changes]:
    """Fewer nodes, then nodes of the cluster's own size; batches made to fit where they must."""
    gpus = at.whole(k.GPUS)
    for each in dict.fromkeys((min(gpus, cluster.largest_node), cluster.largest_node)):
        if each <= 0:
            continue
        most = sum(own // each for own in cluster.gpus_by_node)
        for nodes in range(min(most, _MOST_NODES), 0, -1):
            placed = _placed(at, nodes=nodes, gpus=each)
            yield placed
            yield {**placed, **_batch_for(at.changed(placed), context)}


def _placed(at: View, *, nodes: int, gpus: int) -> Changes:
    values: dict[str, Any] = {k.NODES: nodes, k.GPUS: gpus}
    if is_ref_used(at):
        values |= {k.REF_NODES: nodes, k.REF_GPUS: gpus}
    if at.get(k.CRITIC):
        values |= {k.CRITIC_NODES: nodes, k.CRITIC_GPUS: gpus}
    each = at.whole(k.TENSOR) * at.whole(k.PIPELINE) * at.whole(k.DATA)
    if at.get(k.COLOCATE) and each > 0:
        values[k.ENGINES] = nodes * gpus // each
    return _differing(at, values)


def _batch_for(at: View, context: Context) -> Changes:
    batch = read_batch(at, context)
    near = () if batch.fits() else nearest_batches(batch)
    return changes(batch, near[0]) if near else {}


def _first_passing(
    at: View, context: Context, tried: Iterator[Changes], ends: str
) -> Changes | None:
    """The first changes after which nothing new is wrong; None while a fix is being tried."""
    if at.is_trial:
        return None
    try:
        return next((each for each in tried if fix_passes(at, context, each, ends)), None)
    except Unfit:
        return None


def _differing(at: View, values: Changes) -> Changes:
    return {key: value for key, value in values.items() if at.get(key) != value}


def _words(values: Changes | None) -> str | None:
    if not values:
        return None
    return f"use {k.listed([f'{key} {shown(value)}' for key, value in values.items()])}"


def _divisors_near(world: int, size: int) -> list[int]:
    """Divisors of `world` next to `size`, the nearest first; 1 is always one."""
    reach = range(1, min(abs(world), 4096) + 1)
    found = sorted((abs(each - size), each) for each in reach if world % each == 0)
    return [each for _, each in found[:2]] or [1]


def _whole(split: Split) -> int:
    if isinstance(split.world, bool) or not isinstance(split.world, int):
        raise Unfit(split.nodes_key)
    return split.world
