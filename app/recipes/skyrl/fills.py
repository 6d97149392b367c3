"""What SkyRL's config classes fill in and refuse while they are built (their `__post_init__`).

A step runs when its group was built from keys, after all groups below it. A step about keys that
the tree lacks, or whose `needs` it lacks, is not SkyRL's of that version.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace

from app.recipes.model import Finding
from app.recipes.skyrl import fill_steps
from app.recipes.skyrl.fill_steps import RefusedError
from app.recipes.skyrl.tree import KeyTree

_ENGINE = "generator.inference_engine"
_SUPPORT = f"{_ENGINE}.enable_return_sample_support_set"
_FP8 = f"{_ENGINE}.fp8_weight_sync_mode"
_MEGATRON = ("trainer.policy.megatron_config", "trainer.ref.megatron_config")
_MODELS = ("trainer.policy.model", "trainer.critic.model", "trainer.ref.model")


@dataclass(frozen=True, slots=True)
class _Step:
    groups: tuple[str, ...]
    keys: tuple[str, ...]
    run: Callable[[SimpleNamespace], None] | None = None
    fill: Callable[[KeyTree, str, SimpleNamespace], None] | None = None
    needs: str | None = None


def run_fills(tree: KeyTree, path: str, group: SimpleNamespace) -> Iterator[Finding]:
    """Runs the steps of the group at `path`, in place. Gives what SkyRL would refuse.

    Rule `construction` is a refusal that SkyRL means, `construction_error` an accident that values
    of a wrong type cause.
    """
    for step in _BY_GROUP.get(path, ()):
        fields = tuple(f"{path}.{key}" if path else key for key in step.keys)
        if not _exists(tree, step, fields):
            continue
        try:
            if step.run is not None:
                step.run(group)
            if step.fill is not None:
                step.fill(tree, path, group)
        except RefusedError as refused:
            yield Finding(rule="construction", fields=fields, message=_name(fields, str(refused)))
        except (AttributeError, TypeError, ValueError) as error:
            message = f"SkyRL stops with {type(error).__name__}: {error}"
            yield Finding(rule="construction_error", fields=fields, message=_name(fields, message))


def _exists(tree: KeyTree, step: _Step, fields: tuple[str, ...]) -> bool:
    """Whether SkyRL of that version makes the step: it knows all that the step is about."""
    needed = fields if step.needs is None else (*fields, step.needs)
    return all(key in tree.keys or tree.is_group(key) for key in needed)


def _name(fields: tuple[str, ...], message: str) -> str:
    return f"{', '.join(fields)}: {message}"


_STEPS = (
    _Step(("data.dataloader",), ("num_workers",), fill_steps.dataloader),
    _Step(_MODELS, ("fake_int4_qat.enabled", "lora.rank"), fill_steps.int4_needs_lora),
    _Step(
        tuple(f"{path}.hf_export_config" for path in _MEGATRON),
        ("save_every_n_ranks",),
        fill_steps.export,
    ),
    _Step(
        _MEGATRON,
        ("transformer_config_kwargs", "optimizer_config_kwargs"),
        fill=fill_steps.megatron_kwargs,
    ),
    _Step(("trainer.algorithm.cispo",), ("cispo_anchor",), fill_steps.cispo),
    _Step(("trainer.algorithm.dppo",), ("dppo_type",), fill_steps.dppo),
    _Step((f"{_ENGINE}.delta_weight_sync",), ("sync_dir",), fill_steps.delta_sync),
    _Step(
        ("generator",),
        ("sampling_params.max_generate_length", "eval_sampling_params"),
        fill=fill_steps.eval_sampling,
    ),
    _Step(("trainer",), ("ref.model.path", "policy.model.path"), fill_steps.reference_model),
    _Step(("trainer",), ("log_example_interval",), fill_steps.example_interval),
    _Step(
        ("trainer",),
        ("policy.model.fake_int4_qat.enabled", "strategy"),
        fill_steps.int4_needs_megatron,
    ),
    _Step(("trainer",), ("logprobs_chunk_size",), fill_steps.logprobs_chunk),
    _Step(("trainer",), ("logprobs_chunk_size", "strategy"), fill_steps.no_logprobs_chunk),
    _Step(("trainer",), ("fused_lm_head_logprob", "strategy"), fill_steps.fused_logprob),
    _Step(("trainer",), ("fused_lm_head_logprob_backend",), fill_steps.fused_backend),
    _Step(("trainer",), ("vocab_entropy_chunk_size",), fill_steps.entropy_chunk),
    _Step(("trainer",), ("vocab_entropy_chunk_memory_mb",), fill_steps.entropy_memory),
    _Step(
        ("",), ("generator.max_input_length", "trainer.max_prompt_length"), fill_steps.input_length
    ),
    _Step(
        ("",),
        ("trainer.algorithm.temperature", "generator.sampling_params.temperature"),
        fill_steps.temperature,
    ),
    _Step(
        ("",),
        ("trainer.algorithm.enable_sample_support_replay", _SUPPORT),
        fill_steps.support_replay,
        needs=_SUPPORT,
    ),
    _Step(
        ("",), (_SUPPORT, "generator.sampling_params"), fill_steps.support_capture, needs=_SUPPORT
    ),
    # Only the versions that return sample support refuse this; the keys alone are older.
    _Step(
        ("",),
        (f"{_ENGINE}.enable_return_routed_experts", "generator.vision_language_generator"),
        fill_steps.routed_experts,
        needs=_SUPPORT,
    ),
    _Step(
        ("",),
        ("data.dataloader.persistent_workers", "data.dataloader.num_workers"),
        fill_steps.loader_workers,
    ),
    _Step(
        ("",),
        (_FP8, "trainer.strategy", f"{_ENGINE}.weight_sync_backend"),
        fill_steps.fp8_sync,
        needs=_FP8,
    ),
    _Step(
        ("",), ("trainer.policy.model.lora.rank", f"{_ENGINE}.enforce_eager"), fill_steps.eager_lora
    ),
)
_BY_GROUP: dict[str, list[_Step]] = {}
for _step in _STEPS:
    for _path in _step.groups:
        _BY_GROUP.setdefault(_path, []).append(_step)
