"""World and data parallel sizes, computed as SkyRL computes them, floors included."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from app.recipes.skyrl.rules import keys as k
from app.recipes.skyrl.rules.view import View, counted


@dataclass(frozen=True, slots=True)
class Split:
    """How the GPUs of one model are shared by its copies, as raw values.

    `size` GPUs hold one copy; SkyRL shares mini-batches over the copies if `is_shared`.
    """

    world: Any
    size: Any
    nodes_key: str
    gpus_key: str
    size_key: str
    is_shared: bool

    @property
    def dp(self) -> Any:
        """Copies of the model; None where SkyRL would divide by zero."""
        return None if self.size == 0 else self.world // self.size


def strategy(at: View) -> Any:
    """SkyRL takes `fsdp2`, an old name, as `fsdp`."""
    name = at.get(k.STRATEGY)
    return "fsdp" if name == "fsdp2" else name


def is_megatron(at: View) -> bool:
    return bool(strategy(at) == "megatron")


def is_ref_used(at: View) -> bool:
    return bool(at.get(k.KL_LOSS) or at.get(k.KL_REWARD))


def has_critic(at: View) -> bool:
    """As the batch sizes see it; models are built for a path that is not empty."""
    return at.get(k.CRITIC) is not None


def splits(at: View) -> Iterator[Split]:
    yield policy_split(at)
    yield critic_split(at)
    yield ref_split(at)


def policy_split(at: View) -> Split:
    size = _megatron_size(at, k.MEGATRON_POLICY) if is_megatron(at) else at.get(k.POLICY_SP)
    world = counted(at.get(k.NODES), at.get(k.GPUS))
    return Split(world, size, k.NODES, k.GPUS, k.POLICY_SP, is_shared=True)


def critic_split(at: View) -> Split:
    world = counted(at.get(k.CRITIC_NODES), at.get(k.CRITIC_GPUS))
    keys = (k.CRITIC_NODES, k.CRITIC_GPUS, k.CRITIC_SP)
    return Split(world, at.get(k.CRITIC_SP), *keys, is_shared=has_critic(at))


def ref_split(at: View) -> Split:
    """Of the reference model; its sizes are not even looked at unless KL is on."""
    if not is_ref_used(at):
        return Split(1, 1, k.REF_NODES, k.REF_GPUS, k.REF_SP, is_shared=False)
    size = _megatron_size(at, k.MEGATRON_REF) if is_megatron(at) else at.get(k.REF_SP)
    world = counted(at.get(k.REF_NODES), at.get(k.REF_GPUS))
    return Split(world, size, k.REF_NODES, k.REF_GPUS, k.REF_SP, is_shared=False)


def rollout_gpus(at: View) -> Any:
    """GPUs of all inference engines."""
    return counted(at.get(k.ENGINES), at.get(k.TENSOR), at.get(k.PIPELINE), at.get(k.DATA))


def _megatron_size(at: View, group: str) -> Any:
    return counted(
        at.get(f"{group}.pipeline_model_parallel_size"),
        at.get(f"{group}.context_parallel_size"),
        at.get(f"{group}.tensor_model_parallel_size"),
    )
