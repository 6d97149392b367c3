"""V5 to V11, E10: inference engines (`validate_inference_engine_cfg`)."""

from collections.abc import Iterator
from typing import Any

from app.recipes.skyrl.rules import keys as k
from app.recipes.skyrl.rules.context import Context
from app.recipes.skyrl.rules.parallel import is_megatron
from app.recipes.skyrl.rules.registry import Flaw, Kind, fix_passes, rule
from app.recipes.skyrl.rules.view import View, counted, is_number, shown

_ENGINE = "generator.inference_engine"
_PD = k.name(f"{_ENGINE}.enable_pd")
_PREFILL = k.name(f"{_ENGINE}.num_prefill")
_OFFLOAD = k.name(f"{_ENGINE}.offload_kv_for_weight_sync")
_PROXY = k.name(f"{_ENGINE}.external_proxy_url")
_SERVERS = k.name(f"{_ENGINE}.external_server_urls")
_REPLAY = k.name(f"{k.MEGATRON_POLICY}.moe_enable_routing_replay")
_DEFAULT_MEMORY = 0.8


@rule(Kind.REFUSED, "V5.prefill", _PD, _PREFILL, k.ENGINES)
def prefill(at: View, _: Context) -> Iterator[Flaw]:
    if not at.get(_PD):
        return
    first, engines = at.get(_PREFILL), at.get(k.ENGINES)
    if not (first > 0 and first < engines and engines >= 2):
        yield Flaw(
            message=f"{_PD} needs 0 < {_PREFILL} < {k.ENGINES} and two engines at least, not "
            f"{shown(first)} of {shown(engines)}",
            fix=f"use {_PD} false, or {_PREFILL} between 1 and {k.ENGINES} - 1",
            fix_values={_PD: False},
        )


@rule(Kind.REFUSED, "V6.expert_parallel", k.EXPERT, k.DATA, k.TENSOR)
def expert_parallel(at: View, _: Context) -> Iterator[Flaw]:
    expert, data, tensor = at.get(k.EXPERT), at.get(k.DATA), at.get(k.TENSOR)
    if expert > 1 and counted(data, tensor) != expert:
        product = counted(data, tensor)
        yield Flaw(
            message=f"{k.EXPERT} {shown(expert)} must be {k.DATA} × {k.TENSOR} = {shown(data)} × "
            f"{shown(tensor)} = {shown(product)}",
            fix=f"use {k.EXPERT} 1" + (f" or {shown(product)}" if product != 1 else ""),
            fix_values={k.EXPERT: product},
        )


@rule(Kind.REFUSED, "V7.executor", k.EXECUTOR)
def executor(at: View, _: Context) -> Iterator[Flaw]:
    if at.get(k.EXECUTOR) not in ("mp", "ray"):
        yield Flaw(
            message=f"{k.EXECUTOR} must be mp or ray, not {shown(at.get(k.EXECUTOR))}",
            fix="use ray",
            fix_values={k.EXECUTOR: "ray"},
        )


@rule(Kind.REFUSED, "V8.engine_in_node", k.TENSOR, k.PIPELINE, k.GPUS, k.EXECUTOR)
def engine_in_node(at: View, _: Context) -> Iterator[Flaw]:
    tensor, pipeline = at.get(k.TENSOR), at.get(k.PIPELINE)
    if not at.get(k.COLOCATE):
        _check_multiplies(tensor, pipeline)
        return
    each, gpus = counted(tensor, pipeline), at.get(k.GPUS)
    if each > gpus and at.get(k.EXECUTOR) == "mp":
        yield Flaw(
            message=f"One engine takes {k.TENSOR} × {k.PIPELINE} = {shown(tensor)} × "
            f"{shown(pipeline)} = {shown(each)} GPUs, but with {k.EXECUTOR} mp it must fit into "
            f"the {shown(gpus)} GPUs of a node ({k.GPUS})",
            fix=f"use {k.EXECUTOR} ray",
            fix_values={k.EXECUTOR: "ray"},
        )


@rule(Kind.REFUSED, "V9.routed_experts", k.ROUTED_EXPERTS, k.EXECUTOR, k.STRATEGY, _REPLAY)
def routed_experts(at: View, _: Context) -> Iterator[Flaw]:
    if not at.get(k.ROUTED_EXPERTS):
        return
    if at.get(k.EXECUTOR) != "mp" or not is_megatron(at) or not at.get(_REPLAY):
        yield Flaw(
            message=f"{k.ROUTED_EXPERTS} needs {k.EXECUTOR} mp, {k.STRATEGY} megatron and "
            f"{_REPLAY} true",
            fix=f"use {k.ROUTED_EXPERTS} false",
            fix_values={k.ROUTED_EXPERTS: False},
        )


@rule(Kind.REFUSED, "V10.offload_kv", _OFFLOAD, k.COLOCATE, k.RANK, k.WEIGHT_SYNC)
def offload_kv(at: View, _: Context) -> Iterator[Flaw]:
    if not at.get(_OFFLOAD):
        return
    if at.get(k.COLOCATE) or at.get(k.RANK) != 0 or at.get(k.WEIGHT_SYNC) == "delta":
        yield Flaw(
            message=f"{_OFFLOAD} works only without co-location, without LoRA and without delta "
            "weight sync",
            fix=f"use {_OFFLOAD} false",
            fix_values={_OFFLOAD: False},
        )


@rule(Kind.REFUSED, "V11.external_colocated", k.COLOCATE, _PROXY, _SERVERS)
def external_colocated(at: View, _: Context) -> Iterator[Flaw]:
    if at.get(k.COLOCATE) and _has_external(at):
        yield Flaw(
            message=f"With {k.COLOCATE} SkyRL runs its own engines: {_PROXY} and {_SERVERS} must "
            "be null",
            fix="use null for both",
            fix_values={_PROXY: None, _SERVERS: None},
        )


@rule(Kind.REFUSED, "V11.engines_somewhere", k.RUN_LOCALLY, _PROXY, _SERVERS)
def engines_somewhere(at: View, _: Context) -> Iterator[Flaw]:
    if not at.get(k.RUN_LOCALLY) and not _has_external(at):
        yield Flaw(
            message=f"{k.RUN_LOCALLY} is {shown(at.get(k.RUN_LOCALLY))}, but neither {_PROXY} nor "
            f"{_SERVERS} says where the engines are",
            fix=f"use {k.RUN_LOCALLY} true",
            fix_values={k.RUN_LOCALLY: True},
        )


@rule(Kind.FAILS, "E10.backend", k.BACKEND)
def backend(at: View, _: Context) -> Iterator[Flaw]:
    if at.get(k.BACKEND) != "vllm":
        yield Flaw(
            message=f"{k.BACKEND} {shown(at.get(k.BACKEND))} is not checked by SkyRL, but it has "
            "no other engine than vllm",
            fix="use vllm",
            fix_values={k.BACKEND: "vllm"},
        )


@rule(Kind.FAILS, "E10.gpu_memory", k.GPU_MEMORY)
def gpu_memory(at: View, _: Context) -> Iterator[Flaw]:
    share = at.number(k.GPU_MEMORY)
    if not 0 < share <= 1:
        yield Flaw(
            message=f"{k.GPU_MEMORY} is the share of a GPU's memory, above 0 and at most 1, not "
            f"{shown(share)}: engines do not start",
            fix=f"use {_DEFAULT_MEMORY}",
            fix_values={k.GPU_MEMORY: _DEFAULT_MEMORY},
        )


@rule(Kind.FAILS, "E10.weight_sync", k.WEIGHT_SYNC)
def weight_sync(at: View, context: Context) -> Iterator[Flaw]:
    if at.get(k.WEIGHT_SYNC) in ("nccl", "delta", "sharded_rdt"):
        return
    values = {k.WEIGHT_SYNC: "nccl"}
    passes = not at.is_trial and fix_passes(at, context, values, "E10.weight_sync")
    yield Flaw(
        message=f"{k.WEIGHT_SYNC} must be nccl or delta, not {shown(at.get(k.WEIGHT_SYNC))}; "
        "SkyRL does not check it",
        fix="use nccl",
        fix_values=values if passes else None,
    )


def _has_external(at: View) -> bool:
    return at.get(_PROXY) is not None or at.get(_SERVERS) is not None


def _check_multiplies(first: Any, second: Any) -> None:
    """Raises `TypeError` where Python would not multiply; text times a whole number it does."""
    if is_number(first) and is_number(second):
        return
    for one, other in ((first, second), (second, first)):
        if isinstance(one, str | list) and isinstance(other, int):
            return
    raise TypeError("cannot be multiplied")
