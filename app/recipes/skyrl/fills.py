"""What SkyRL's config classes fill in and refuse while they are built (their `__post_init__`).

From `skyrl/train/config/config.py` of 0.4.0 and of commit a9564572. A step runs when its group was
built from keys, after all groups below it; it works on plain values of any type, so a comparison
with a text raises here as it does there. A step whose `needs` is not in the tree is not SkyRL's of
that version.
"""

import hashlib
import os.path
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from types import SimpleNamespace

from app.recipes.model import Finding
from app.recipes.skyrl.tree import KeyTree

_ENGINE = "generator.inference_engine"
_SUPPORT = f"{_ENGINE}.enable_return_sample_support_set"
_FP8 = f"{_ENGINE}.fp8_weight_sync_mode"
_MEGATRON = ("trainer.policy.megatron_config", "trainer.ref.megatron_config")
_MODELS = ("trainer.policy.model", "trainer.critic.model", "trainer.ref.model")
_TEMPORARY = "/tmp"  # noqa: S108 - the job's own, where SkyRL puts them
_PATH_NAME = 160
_DIGEST = 16


class _RefusedError(Exception):
    """SkyRL raises here. The text says why and what would do."""


@dataclass(frozen=True, slots=True)
class _Step:
    groups: tuple[str, ...]
    keys: tuple[str, ...]
    run: Callable[[SimpleNamespace], None] | None = None
    fill: Callable[[KeyTree, str, SimpleNamespace], None] | None = None
    needs: str | None = None


def run_fills(tree: KeyTree, path: str, group: SimpleNamespace) -> Iterator[Finding]:
    """Runs the steps of the group at `path`, in place. Gives what SkyRL would refuse.

    Rule `construction` is a refusal in SkyRL's own words, `construction_error` one by an accident
    that values of a wrong type cause.
    """
    for step in _BY_GROUP.get(path, ()):
        if step.needs is not None and step.needs not in tree.keys:
            continue
        fields = tuple(f"{path}.{key}" if path else key for key in step.keys)
        try:
            if step.run is not None:
                step.run(group)
            if step.fill is not None:
                step.fill(tree, path, group)
        except _RefusedError as refused:
            yield Finding(rule="construction", fields=fields, message=_name(fields, str(refused)))
        except (AttributeError, TypeError, ValueError) as error:
            message = f"SkyRL stops with {type(error).__name__}: {error}"
            yield Finding(rule="construction_error", fields=fields, message=_name(fields, message))


def _name(fields: tuple[str, ...], message: str) -> str:
    return f"{', '.join(fields)}: {message}"


def _dataloader(loader: SimpleNamespace) -> None:
    if loader.num_workers is not None and loader.num_workers < 0:
        raise _RefusedError(f"{loader.num_workers} is below 0; take 0 or more, or null for 8")


def _int4_needs_lora(model: SimpleNamespace) -> None:
    if model.fake_int4_qat.enabled and not model.lora.rank > 0:
        raise _RefusedError("training for INT4 needs LoRA; take a rank above 0")


def _export(export: SimpleNamespace) -> None:
    if export.save_every_n_ranks < 1:
        raise _RefusedError(f"{export.save_every_n_ranks} is below 1; take 1 or more")


def _megatron_kwargs(tree: KeyTree, path: str, config: SimpleNamespace) -> None:
    for name in ("transformer_config_kwargs", "optimizer_config_kwargs"):
        if getattr(config, name) is None:
            setattr(config, name, {})
        if name == "transformer_config_kwargs":
            _fold_fp8(config)
        for key, value in tree.keys[f"{path}.{name}"].as_written.items():
            getattr(config, name).setdefault(key, deepcopy(value))


def _fold_fp8(config: SimpleNamespace) -> None:
    for key in ("fp8", "fp8_recipe", "fp8_param", "fp8_amax_compute_algo"):
        value = getattr(config, key, None)
        if value is not None:
            config.transformer_config_kwargs.setdefault(key, value)


def _cispo(cispo: SimpleNamespace) -> None:
    if cispo.cispo_anchor not in ("old", "rollout"):
        raise _RefusedError(f"{cispo.cispo_anchor!r} is neither old nor rollout")


def _dppo(dppo: SimpleNamespace) -> None:
    if dppo.dppo_type not in ("binary_tv", "binary_kl"):
        raise _RefusedError(f"{dppo.dppo_type!r} is neither binary_tv nor binary_kl")


def _delta_sync(sync: SimpleNamespace) -> None:
    for name, folder in (
        ("local_checkpoint_dir", "skyrl_delta_checkpoints"),
        ("publish_staging_dir", "skyrl_delta_publish_staging"),
    ):
        if getattr(sync, name) is None:
            setattr(sync, name, f"{_TEMPORARY}/{folder}/{_path_name(sync.sync_dir)}")


def _path_name(folder: str) -> str:
    name = "".join(c if c.isalnum() or c in "-_." else "_" for c in os.path.basename(folder))
    digest = hashlib.sha256(folder.encode("utf-8")).hexdigest()[:_DIGEST]
    return f"{name[: _PATH_NAME - _DIGEST - 1]}_{digest}"


def _eval_sampling(tree: KeyTree, path: str, generator: SimpleNamespace) -> None:
    if generator.eval_sampling_params is None:
        group = f"{path}.eval_sampling_params"
        classes = {name: tree.keys[f"{group}.{name}"].as_written for name in tree.children(group)}
        length = generator.sampling_params.max_generate_length
        generator.eval_sampling_params = SimpleNamespace(
            **classes | {"temperature": 0.0, "max_generate_length": length}
        )


def _reference_model(trainer: SimpleNamespace) -> None:
    if trainer.ref.model.path is None:
        trainer.ref.model.path = trainer.policy.model.path


def _example_interval(trainer: SimpleNamespace) -> None:
    if trainer.log_example_interval > 0:
        trainer.print_example_interval = trainer.log_example_interval


def _int4_needs_megatron(trainer: SimpleNamespace) -> None:
    if not trainer.policy.model.fake_int4_qat.enabled:
        return
    if trainer.strategy != "megatron":
        raise _RefusedError("training for INT4 needs strategy=megatron")
    if trainer.policy.megatron_config.lora_config.merge_lora:
        raise _RefusedError("training for INT4 needs merge_lora=false")


def _logprobs_chunk(trainer: SimpleNamespace) -> None:
    size = trainer.logprobs_chunk_size
    if size is not None and (not isinstance(size, int) or size <= 0):
        raise _RefusedError(f"{size!r} is no whole number above 0")


def _no_logprobs_chunk(trainer: SimpleNamespace) -> None:
    if trainer.logprobs_chunk_size is None and trainer.strategy != "megatron":
        raise _RefusedError("null works with strategy=megatron only; take a whole number above 0")


def _fused_logprob(trainer: SimpleNamespace) -> None:
    if trainer.fused_lm_head_logprob and trainer.strategy != "megatron":
        raise _RefusedError("works with strategy=megatron only; take false")


def _fused_backend(trainer: SimpleNamespace) -> None:
    if trainer.fused_lm_head_logprob_backend not in ("torch", "triton"):
        raise _RefusedError(
            f"{trainer.fused_lm_head_logprob_backend!r} is neither torch nor triton"
        )


def _entropy_chunk(trainer: SimpleNamespace) -> None:
    size = trainer.vocab_entropy_chunk_size
    if size is not None and (isinstance(size, bool) or not isinstance(size, int) or size < 0):
        raise _RefusedError(f"{size!r} is no whole number of 0 or more, and not null")


def _entropy_memory(trainer: SimpleNamespace) -> None:
    size = trainer.vocab_entropy_chunk_memory_mb
    if isinstance(size, bool) or not isinstance(size, int) or size <= 0:
        raise _RefusedError(f"{size!r} is no whole number above 0")


def _input_length(config: SimpleNamespace) -> None:
    if config.generator.max_input_length is None:
        config.generator.max_input_length = config.trainer.max_prompt_length


def _temperature(config: SimpleNamespace) -> None:
    if config.trainer.algorithm.temperature is None:
        config.trainer.algorithm.temperature = config.generator.sampling_params.temperature


def _support_replay(config: SimpleNamespace) -> None:
    if not config.trainer.algorithm.enable_sample_support_replay:
        return
    if not config.generator.inference_engine.enable_return_sample_support_set:
        raise _RefusedError("replaying sample support needs the engine to return it")
    if config.trainer.strategy not in ("megatron", "fsdp"):
        raise _RefusedError("replaying sample support needs strategy=megatron or fsdp")
    if not config.generator.use_conversation_multi_turn:
        raise _RefusedError("replaying sample support needs use_conversation_multi_turn=true")


def _support_capture(config: SimpleNamespace) -> None:
    generator = config.generator
    if not generator.inference_engine.enable_return_sample_support_set:
        return
    sampling = generator.sampling_params
    if sampling.temperature <= 0:
        raise _RefusedError("returning sample support needs a temperature above 0")
    if sampling.top_k <= 1:
        raise _RefusedError("returning sample support needs top_k above 1")
    if sampling.repetition_penalty != 1.0:
        raise _RefusedError("returning sample support needs repetition_penalty=1.0")
    if sampling.additional_kwargs:
        raise _RefusedError("returning sample support works without additional_kwargs only")
    if generator.vision_language_generator:
        raise _RefusedError("returning sample support does not work with images")


def _routed_experts(config: SimpleNamespace) -> None:
    generator = config.generator
    if generator.inference_engine.enable_return_routed_experts and (
        generator.vision_language_generator
    ):
        raise _RefusedError("returning routed experts does not work with images")


def _loader_workers(config: SimpleNamespace) -> None:
    loader = config.data.dataloader
    if loader.num_workers is None:
        loader.num_workers = 8
    if loader.persistent_workers and loader.num_workers == 0:
        raise _RefusedError("persistent workers need num_workers above 0")


def _fp8_sync(config: SimpleNamespace) -> None:
    engine = config.generator.inference_engine
    if engine.fp8_weight_sync_mode is None:
        return
    if engine.fp8_weight_sync_mode not in ("blockwise", "mxfp8", "auto"):
        raise _RefusedError(f"{engine.fp8_weight_sync_mode!r} is not blockwise, mxfp8 or auto")
    if config.trainer.strategy != "megatron":
        raise _RefusedError("weights in FP8 need strategy=megatron")
    _ = config.trainer.placement.colocate_all
    if engine.weight_sync_backend in ("sharded_rdt", "rdt", "delta"):
        raise _RefusedError(f"weights in FP8 cannot be sent by {engine.weight_sync_backend}")


def _eager_lora(config: SimpleNamespace) -> None:
    engine = config.generator.inference_engine
    if _syncs_adapters(config) and engine.enforce_eager and engine.backend == "vllm":
        engine.enforce_eager = False


def _syncs_adapters(config: SimpleNamespace) -> bool:
    if config.trainer.policy.model.lora.rank <= 0:
        return False
    if config.trainer.strategy == "megatron":
        return not config.trainer.policy.megatron_config.lora_config.merge_lora
    return True


_STEPS = (
    _Step(("data.dataloader",), ("num_workers",), _dataloader),
    _Step(_MODELS, ("fake_int4_qat.enabled", "lora.rank"), _int4_needs_lora),
    _Step(
        tuple(f"{path}.hf_export_config" for path in _MEGATRON), ("save_every_n_ranks",), _export
    ),
    _Step(
        _MEGATRON,
        ("transformer_config_kwargs", "optimizer_config_kwargs"),
        fill=_megatron_kwargs,
    ),
    _Step(("trainer.algorithm.cispo",), ("cispo_anchor",), _cispo),
    _Step(("trainer.algorithm.dppo",), ("dppo_type",), _dppo),
    _Step((f"{_ENGINE}.delta_weight_sync",), ("sync_dir",), _delta_sync),
    _Step(("generator",), ("sampling_params.max_generate_length",), fill=_eval_sampling),
    _Step(("trainer",), ("ref.model.path", "policy.model.path"), _reference_model),
    _Step(("trainer",), ("log_example_interval",), _example_interval),
    _Step(("trainer",), ("policy.model.fake_int4_qat.enabled", "strategy"), _int4_needs_megatron),
    _Step(("trainer",), ("logprobs_chunk_size",), _logprobs_chunk),
    _Step(("trainer",), ("logprobs_chunk_size", "strategy"), _no_logprobs_chunk),
    _Step(("trainer",), ("fused_lm_head_logprob", "strategy"), _fused_logprob),
    _Step(("trainer",), ("fused_lm_head_logprob_backend",), _fused_backend),
    _Step(("trainer",), ("vocab_entropy_chunk_size",), _entropy_chunk),
    _Step(("trainer",), ("vocab_entropy_chunk_memory_mb",), _entropy_memory),
    _Step(("",), ("generator.max_input_length", "trainer.max_prompt_length"), _input_length),
    _Step(
        ("",),
        ("trainer.algorithm.temperature", "generator.sampling_params.temperature"),
        _temperature,
    ),
    _Step(
        ("",),
        ("trainer.algorithm.enable_sample_support_replay", _SUPPORT),
        _support_replay,
        needs=_SUPPORT,
    ),
    _Step(("",), (_SUPPORT, "generator.sampling_params"), _support_capture, needs=_SUPPORT),
    # Only the versions that return sample support refuse this; the keys alone are older.
    _Step(
        ("",),
        (f"{_ENGINE}.enable_return_routed_experts", "generator.vision_language_generator"),
        _routed_experts,
        needs=_SUPPORT,
    ),
    _Step(
        ("",),
        ("data.dataloader.persistent_workers", "data.dataloader.num_workers"),
        _loader_workers,
    ),
    _Step(
        ("",), (_FP8, "trainer.strategy", f"{_ENGINE}.weight_sync_backend"), _fp8_sync, needs=_FP8
    ),
    _Step(("",), ("trainer.policy.model.lora.rank", f"{_ENGINE}.enforce_eager"), _eager_lora),
)
_BY_GROUP: dict[str, list[_Step]] = {}
for _step in _STEPS:
    for _path in _step.groups:
        _BY_GROUP.setdefault(_path, []).append(_step)
