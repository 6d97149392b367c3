"""V23, and traps of LoRA: the vision tower, the engine's ranks, the folder adapters go through."""

from collections.abc import Iterator

from app.recipes.skyrl.rules import keys as k
from app.recipes.skyrl.rules.context import Context
from app.recipes.skyrl.rules.parallel import is_megatron
from app.recipes.skyrl.rules.paths import free_folder, is_node_local, same_folder
from app.recipes.skyrl.rules.registry import Flaw, Kind, rule
from app.recipes.skyrl.rules.view import View, shown

VLLM_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""Values that vLLM takes as `max_lora_rank`; SkyRL hands it the rank itself."""

NO_VISION = ".*visual.*"
_TEXT_ONLY = k.name("trainer.policy.language_model_only")


@rule(Kind.REFUSED, "V23.lora_backend", k.RANK, k.BACKEND)
def lora_backend(at: View, _: Context) -> Iterator[Flaw]:
    if at.get(k.RANK) > 0 and at.get(k.BACKEND) != "vllm":
        yield Flaw(
            message=f"LoRA ({k.RANK} {shown(at.get(k.RANK))}) needs {k.BACKEND} vllm, not "
            f"{shown(at.get(k.BACKEND))}",
            fix="use vllm",
            fix_values={k.BACKEND: "vllm"},
        )


@rule(Kind.REFUSED, "V23.lora_weight_sync", k.RANK, k.WEIGHT_SYNC)
def lora_weight_sync(at: View, _: Context) -> Iterator[Flaw]:
    if at.get(k.RANK) > 0 and at.get(k.WEIGHT_SYNC) == "delta":
        yield Flaw(
            message=f"{k.WEIGHT_SYNC} delta does not work with LoRA ({k.RANK} "
            f"{shown(at.get(k.RANK))})",
            fix="use nccl",
            fix_values={k.WEIGHT_SYNC: "nccl"},
        )


@rule(Kind.WARNING, "trap.lora_vision_tower", k.TARGETS, k.EXCLUDES)
def lora_vision_tower(at: View, _: Context) -> Iterator[Flaw]:
    is_seeing = at.get(k.VISION) is True and at.get(_TEXT_ONLY) is not True
    wraps_all = at.get(k.TARGETS) == "all-linear" and not at.get(k.EXCLUDES)
    if is_seeing and wraps_all and at.whole(k.RANK) > 0:
        yield Flaw(
            message=f"{k.TARGETS} all-linear also wraps the vision tower, whose adapter vLLM "
            "ignores: the model that is trained differs from the one that is sampled",
            fix=f"use {k.EXCLUDES} {NO_VISION!r}",
            fix_values={k.EXCLUDES: NO_VISION},
        )


@rule(Kind.WARNING, "trap.lora_engine_rank", k.RANK)
def lora_engine_rank(at: View, _: Context) -> Iterator[Flaw]:
    rank = at.whole(k.RANK)
    if rank <= 0 or rank in VLLM_RANKS or not _syncs_adapters(at):
        return
    near = [each for each in (_below(rank), _above(rank)) if each is not None]
    yield Flaw(
        message=f"{k.RANK} {rank} becomes vLLM's max_lora_rank, which takes "
        f"{', '.join(map(str, VLLM_RANKS))} only: engines do not start",
        fix=f"use {' or '.join(map(str, near))}",
        fix_values={k.RANK: min(near, key=lambda each: abs(each - rank))},
    )


@rule(Kind.WARNING, "trap.lora_endpoint_rank", k.RANK)
def lora_endpoint_rank(at: View, context: Context) -> Iterator[Flaw]:
    most, rank = context.endpoint_max_lora_rank, at.whole(k.RANK)
    if most is not None and rank > most:
        yield Flaw(
            message=f"{k.RANK} {rank} is above the max_lora_rank {most} of the endpoint: it will "
            "not load the adapter",
            fix=f"use {most}, or raise the endpoint's max_lora_rank",
            fix_values={k.RANK: most} if most > 0 else None,
        )


@rule(Kind.WARNING, "trap.lora_sync_local", k.SYNC_PATH, k.NODES)
def lora_sync_local(at: View, context: Context) -> Iterator[Flaw]:
    path = at.text(k.SYNC_PATH)
    if not _syncs_adapters(at) or at.whole(k.NODES) < 2:
        return
    if is_node_local(path, context.shared_paths):
        folder = _sync_folder(at, context)
        yield Flaw(
            message=f"{k.SYNC_PATH} {shown(path)} lies on one of {at.whole(k.NODES)} nodes: "
            "engines on the others do not see new adapters",
            fix=f"use a folder that all nodes share, such as {folder}",
            fix_values={k.SYNC_PATH: folder},
        )


@rule(Kind.WARNING, "trap.lora_sync_shared", k.SYNC_PATH)
def lora_sync_shared(at: View, context: Context) -> Iterator[Flaw]:
    path = at.text(k.SYNC_PATH)
    users = [
        run.name
        for run in context.other_runs
        if run.lora_sync_path is not None and same_folder(run.lora_sync_path, path)
    ]
    if users and _syncs_adapters(at):
        folder = _sync_folder(at, context)
        yield Flaw(
            message=f"{k.SYNC_PATH} {shown(path)} is also that of {', '.join(users[:3])}: each "
            "would load the other's adapters",
            fix=f"use a folder of this run's own, such as {folder}",
            fix_values={k.SYNC_PATH: folder},
        )


def _syncs_adapters(at: View) -> bool:
    return at.whole(k.RANK) > 0 and not (is_megatron(at) and at.get(k.MERGE_LORA))


def _sync_folder(at: View, context: Context) -> str:
    if context.run_folder is not None:
        return f"{context.run_folder}/lora-sync"
    taken = [run.lora_sync_path for run in context.other_runs if run.lora_sync_path is not None]
    base = f"{context.shared_paths[0] if context.shared_paths else '/shared'}/lora"
    return free_folder(base, str(at.get("trainer.run_name")), taken)


def _below(rank: int) -> int | None:
    return max((each for each in VLLM_RANKS if each < rank), default=None)


def _above(rank: int) -> int | None:
    return min((each for each in VLLM_RANKS if each > rank), default=None)
