"""V26: what SkyRL 0.4.0 refuses beyond the commit whose rules V1 to V25 are.

Each looks at keys that only that release has, and finds nothing in a config without them.
"""

from collections.abc import Iterator

from app.recipes.skyrl.rules import keys as k
from app.recipes.skyrl.rules.context import Context
from app.recipes.skyrl.rules.parallel import is_megatron
from app.recipes.skyrl.rules.registry import Flaw, Kind, rule
from app.recipes.skyrl.rules.view import View, shown

_ENGINE = "generator.inference_engine"
_ROLE_KWARGS = tuple(k.name(_ENGINE, f"{role}_init_kwargs") for role in ("prefill", "decode"))
_PD = k.name(f"{_ENGINE}.enable_pd")
_FP8 = k.name(_ENGINE, "fp8_weight_sync_mode")
_OUTER = k.name(f"{k.MEGATRON_POLICY}.lora_config.experts_shared_outer_loras")
_LORA_TYPE = k.name(f"{k.MEGATRON_POLICY}.lora_config.lora_type")


@rule(Kind.REFUSED, "V26.lora_sync_mode", k.SYNC_MODE, k.RANK, k.STRATEGY, k.WEIGHT_SYNC)
def lora_sync_mode(at: View, _: Context) -> Iterator[Flaw]:
    mode = at.get(k.SYNC_MODE)
    # A set, as in SkyRL: what cannot be hashed stops it.
    if mode not in {"disk", "memory"}:
        message = f"{k.SYNC_MODE} must be disk or memory, not {shown(mode)}"
        yield Flaw(message=message, fix="use disk", fix_values={k.SYNC_MODE: "disk"})
    elif mode == "memory" and not _syncs_in_memory(at):
        yield Flaw(
            message=f"{k.SYNC_MODE} memory needs {k.STRATEGY} megatron, LoRA that is not merged "
            f"and {k.WEIGHT_SYNC} nccl",
            fix="use disk",
            fix_values={k.SYNC_MODE: "disk"},
        )


@rule(Kind.REFUSED, "V26.role_kwargs", *_ROLE_KWARGS, _PD)
def role_kwargs(at: View, _: Context) -> Iterator[Flaw]:
    given = [at.get(key) for key in _ROLE_KWARGS]
    if not any(given):
        return
    if not at.get(_PD) or at.get(k.ENGINE_KWARGS):
        yield Flaw(
            message=f"{k.listed(_ROLE_KWARGS)} need {_PD} true and stand instead of "
            f"{k.ENGINE_KWARGS}",
            fix=f"set neither, or move all of {k.ENGINE_KWARGS} into both",
        )
    elif any("kv_transfer_config" not in each for each in given):
        message = f"{k.listed(_ROLE_KWARGS)} must each set kv_transfer_config"
        yield Flaw(message=message, fix="set it for both")


@rule(Kind.REFUSED, "V26.speculative", k.SPECULATIVE, k.STRATEGY, k.RANK)
def speculative(at: View, _: Context) -> Iterator[Flaw]:
    if not at.has(k.SYNC_MODE):
        return
    given = at.get(k.SPECULATIVE)
    uses_mtp = bool(at.get("trainer.mtp.enabled"))
    if given is not None and given.get("method") != "mtp":
        yield Flaw(
            message=f"{k.SPECULATIVE} needs method mtp, not {shown(given.get('method'))}",
            fix="use null",
            fix_values={k.SPECULATIVE: None},
        )
    elif (given is not None or uses_mtp) and not _drafter_follows(at):
        yield Flaw(
            message=f"{k.SPECULATIVE} drafts with the policy's own head, which needs {k.STRATEGY} "
            "megatron, full weights at each sync (no LoRA that is not merged, no FP8) and "
            f"{k.WEIGHT_SYNC} nccl or delta",
            fix="use null and no multi-token prediction",
            fix_values={k.SPECULATIVE: None, "trainer.mtp.enabled": False},
        )


@rule(Kind.REFUSED, "V26.fp8_weight_sync", _FP8, k.STRATEGY, k.WEIGHT_SYNC)
def fp8_weight_sync(at: View, _: Context) -> Iterator[Flaw]:
    if at.get(_FP8) is None:
        return
    merges = at.get(k.RANK) <= 0 or at.get(k.MERGE_LORA)
    if not is_megatron(at) or at.get(k.WEIGHT_SYNC) in ("sharded_rdt", "delta") or not merges:
        yield Flaw(
            message=f"{_FP8} needs {k.STRATEGY} megatron, {k.WEIGHT_SYNC} nccl and full weights",
            fix="use null",
            fix_values={_FP8: None},
        )


@rule(Kind.REFUSED, "V26.merge_routed", k.MERGE_STEP_WISE, k.ROUTED_EXPERTS)
def merge_routed(at: View, _: Context) -> Iterator[Flaw]:
    both = at.get(k.MERGE_STEP_WISE) and at.get(k.ROUTED_EXPERTS)
    if at.has(k.SYNC_MODE) and both:
        yield Flaw(
            message=f"{k.MERGE_STEP_WISE} cannot merge what {k.ROUTED_EXPERTS} returns",
            fix=f"use {k.MERGE_STEP_WISE} false",
            fix_values={k.MERGE_STEP_WISE: False},
        )


@rule(Kind.REFUSED, "V26.outer_loras", _OUTER, _LORA_TYPE, k.RANK)
def outer_loras(at: View, _: Context) -> Iterator[Flaw]:
    if at.get(_OUTER) and at.get(k.RANK) > 0 and at.get(_LORA_TYPE) != "lora":
        yield Flaw(
            message=f"{_OUTER} needs {_LORA_TYPE} lora, not {shown(at.get(_LORA_TYPE))}",
            fix=f"use {_OUTER} false",
            fix_values={_OUTER: False},
        )


def _syncs_in_memory(at: View) -> bool:
    is_adapter = at.get(k.RANK) > 0 and not at.get(k.MERGE_LORA)
    return is_megatron(at) and bool(is_adapter) and at.get(k.WEIGHT_SYNC) == "nccl"


def _drafter_follows(at: View) -> bool:
    full = at.get(k.RANK) <= 0 or at.get(k.MERGE_LORA)
    pushes = at.get(k.WEIGHT_SYNC) not in ("sharded_rdt", "rdt")
    return is_megatron(at) and bool(full) and pushes and at.get(_FP8) is None
