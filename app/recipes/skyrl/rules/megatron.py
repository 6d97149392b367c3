"""V25: Megatron's own conditions (`validate_megatron_cfg`) and multi-token prediction."""

from collections.abc import Iterator

from app.recipes.skyrl.rules import keys as k
from app.recipes.skyrl.rules.context import Context
from app.recipes.skyrl.rules.parallel import has_critic, is_megatron, policy_split, ref_split
from app.recipes.skyrl.rules.registry import Flaw, Kind, rule
from app.recipes.skyrl.rules.view import View, shown

_ROLES = (("trainer.policy", k.MEGATRON_POLICY), ("trainer.ref", k.MEGATRON_REF))
_REPLAY = k.name(f"{k.MEGATRON_POLICY}.moe_enable_routing_replay")
_MTP = k.name("trainer.mtp.enabled")
_MTP_TOKENS = k.name("trainer.mtp.num_speculative_tokens")
_MTP_LAYERS = k.name(f"{k.MEGATRON_POLICY}.mtp_num_layers")


@rule(Kind.REFUSED, "V25.megatron_weight_sync", k.STRATEGY, k.WEIGHT_SYNC, k.BACKEND)
def megatron_weight_sync(at: View, _: Context) -> Iterator[Flaw]:
    if not is_megatron(at):
        return
    # A set, as in SkyRL: what cannot be hashed stops it.
    known = {"nccl", "delta", "sharded_rdt"} if at.has(k.SYNC_MODE) else {"nccl", "delta"}
    for key, allowed, best in ((k.WEIGHT_SYNC, known, "nccl"), (k.BACKEND, {"vllm"}, "vllm")):
        if at.get(key) not in allowed:
            yield Flaw(
                message=f"With Megatron {key} must be {' or '.join(sorted(allowed))}, not "
                f"{shown(at.get(key))}",
                fix=f"use {best}",
                fix_values={key: best},
                fields=(key,),
            )


@rule(Kind.REFUSED, "V25.megatron_critic", k.STRATEGY, k.CRITIC)
def megatron_critic(at: View, _: Context) -> Iterator[Flaw]:
    if is_megatron(at) and has_critic(at):
        yield Flaw(
            message=f"With Megatron there is no critic: {k.CRITIC} must be null",
            fix="use null",
            fix_values={k.CRITIC: None} if at.get(k.ESTIMATOR) != "gae" else None,
        )


@rule(Kind.REFUSED, "V25.megatron_replay", k.STRATEGY, _REPLAY, k.ROUTED_EXPERTS)
def megatron_replay(at: View, _: Context) -> Iterator[Flaw]:
    if not is_megatron(at):
        return
    if at.get(_REPLAY) and not at.get(k.ROUTED_EXPERTS):
        yield Flaw(
            message=f"{_REPLAY} replays what {k.ROUTED_EXPERTS} returns, which is off",
            fix=f"use {_REPLAY} false",
            fix_values={_REPLAY: False},
        )
    for _role, group in _ROLES:
        key = k.name(group, "transformer_config_kwargs")
        if at.get(f"{group}.moe_enable_routing_replay") and at.inside(key, "moe_router_fusion"):
            yield Flaw(
                message=f"{group}.moe_enable_routing_replay does nothing with moe_router_fusion "
                "true in its transformer_config_kwargs",
                fix="set moe_router_fusion false",
                fields=(f"{group}.moe_enable_routing_replay", key),
            )


@rule(Kind.REFUSED, "V25.megatron_context", k.STRATEGY, k.PADDING)
def megatron_context(at: View, _: Context) -> Iterator[Flaw]:
    if not is_megatron(at):
        return
    for _role, group in _ROLES:
        key = k.name(group, "context_parallel_size")
        if at.get(key) > 1 and not at.get(k.PADDING):
            yield Flaw(
                message=f"{key} {shown(at.get(key))} needs {k.PADDING} true",
                fix=f"use {key} 1",
                fix_values={key: 1},
                fields=(key, k.PADDING),
            )


@rule(Kind.REFUSED, "V25.megatron_sequence_parallel", k.STRATEGY, k.POLICY_SP, k.REF_SP)
def megatron_sequence_parallel(at: View, _: Context) -> Iterator[Flaw]:
    if not is_megatron(at):
        return
    for role, _group in _ROLES:
        key = k.name(role, "sequence_parallel_size")
        if at.get(key) != 1:
            yield Flaw(
                message=f"With Megatron {key} must be 1, not {shown(at.get(key))}",
                fix="use 1",
                fix_values={key: 1},
                fields=(key,),
            )


@rule(Kind.REFUSED, "V25.megatron_world", k.STRATEGY, k.NODES, k.GPUS)
def megatron_world(at: View, _: Context) -> Iterator[Flaw]:
    if not is_megatron(at):
        return
    for group, split in ((k.MEGATRON_POLICY, policy_split(at)), (k.MEGATRON_REF, ref_split(at))):
        if split.world % split.size != 0:
            yield Flaw(
                message=f"{shown(split.world)} GPUs ({split.nodes_key} × {split.gpus_key}) cannot "
                f"be divided by pipeline × context × tensor parallel = {shown(split.size)} of "
                f"{group}",
                fix="use parallel sizes whose product divides the GPUs",
                fields=(split.nodes_key, split.gpus_key),
            )


@rule(Kind.REFUSED, "V25.multi_token_prediction", _MTP, _MTP_TOKENS, _MTP_LAYERS)
def multi_token_prediction(at: View, _: Context) -> Iterator[Flaw]:
    if not at.get(_MTP):
        return
    if not at.get(_MTP_TOKENS) >= 1:
        message = f"{_MTP_TOKENS} must be at least 1, not {shown(at.get(_MTP_TOKENS))}"
        yield Flaw(message=message, fix="use 1", fix_values={_MTP_TOKENS: 1})
    if at.get(_MTP_LAYERS) == 0:
        yield Flaw(
            message=f"{_MTP} is on, but {_MTP_LAYERS} 0 turns it off",
            fix=f"use {_MTP_LAYERS} null",
            fix_values={_MTP_LAYERS: None},
        )
