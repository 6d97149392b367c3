"""The single steps of `fills.py`: what SkyRL's config classes set and refuse.

From `skyrl/train/config/config.py` of 0.4.0 and of commit a9564572, in the order of that file. Each
works on plain values of any type, so that a comparison with a text raises here as it does there.
"""

import hashlib
import os.path
from copy import deepcopy
from types import SimpleNamespace

from app.recipes.skyrl.tree import KeyTree

_TEMPORARY = "/tmp"  # noqa: S108 - the job's own, where SkyRL puts them
_PATH_NAME = 160
_DIGEST = 16


class RefusedError(Exception):
    """SkyRL raises here. The text says why and what would do."""


def dataloader(loader: SimpleNamespace) -> None:
    if loader.num_workers is not None and loader.num_workers < 0:
        raise RefusedError(f"{loader.num_workers} is below 0; take 0 or more, or null for 8")


def int4_needs_lora(model: SimpleNamespace) -> None:
    if model.fake_int4_qat.enabled and not model.lora.rank > 0:
        raise RefusedError("training for INT4 needs LoRA; take a rank above 0")


def export(export: SimpleNamespace) -> None:
    if export.save_every_n_ranks < 1:
        raise RefusedError(f"{export.save_every_n_ranks} is below 1; take 1 or more")


def megatron_kwargs(tree: KeyTree, path: str, config: SimpleNamespace) -> None:
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


def cispo(cispo: SimpleNamespace) -> None:
    if cispo.cispo_anchor not in ("old", "rollout"):
        raise RefusedError(f"{cispo.cispo_anchor!r} is neither old nor rollout")


def dppo(dppo: SimpleNamespace) -> None:
    if dppo.dppo_type not in ("binary_tv", "binary_kl"):
        raise RefusedError(f"{dppo.dppo_type!r} is neither binary_tv nor binary_kl")


def delta_sync(sync: SimpleNamespace) -> None:
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


def eval_sampling(tree: KeyTree, path: str, generator: SimpleNamespace) -> None:
    if generator.eval_sampling_params is None:
        group = f"{path}.eval_sampling_params"
        classes = {name: tree.keys[f"{group}.{name}"].as_written for name in tree.children(group)}
        length = generator.sampling_params.max_generate_length
        generator.eval_sampling_params = SimpleNamespace(
            **classes | {"temperature": 0.0, "max_generate_length": length}
        )


def reference_model(trainer: SimpleNamespace) -> None:
    if trainer.ref.model.path is None:
        trainer.ref.model.path = trainer.policy.model.path


def example_interval(trainer: SimpleNamespace) -> None:
    if trainer.log_example_interval > 0:
        trainer.print_example_interval = trainer.log_example_interval


def int4_needs_megatron(trainer: SimpleNamespace) -> None:
    if not trainer.policy.model.fake_int4_qat.enabled:
        return
    if trainer.strategy != "megatron":
        raise RefusedError("training for INT4 needs strategy=megatron")
    if trainer.policy.megatron_config.lora_config.merge_lora:
        raise RefusedError("training for INT4 needs merge_lora=false")


def logprobs_chunk(trainer: SimpleNamespace) -> None:
    size = trainer.logprobs_chunk_size
    if size is not None and (not isinstance(size, int) or size <= 0):
        raise RefusedError(f"{size!r} is no whole number above 0")


def no_logprobs_chunk(trainer: SimpleNamespace) -> None:
    if trainer.logprobs_chunk_size is None and trainer.strategy != "megatron":
        raise RefusedError("null works with strategy=megatron only; take a whole number above 0")


def fused_logprob(trainer: SimpleNamespace) -> None:
    if trainer.fused_lm_head_logprob and trainer.strategy != "megatron":
        raise RefusedError("works with strategy=megatron only; take false")


def fused_backend(trainer: SimpleNamespace) -> None:
    if trainer.fused_lm_head_logprob_backend not in ("torch", "triton"):
        raise RefusedError(f"{trainer.fused_lm_head_logprob_backend!r} is neither torch nor triton")


def entropy_chunk(trainer: SimpleNamespace) -> None:
    size = trainer.vocab_entropy_chunk_size
    if size is not None and (isinstance(size, bool) or not isinstance(size, int) or size < 0):
        raise RefusedError(f"{size!r} is no whole number of 0 or more, and not null")


def entropy_memory(trainer: SimpleNamespace) -> None:
    size = trainer.vocab_entropy_chunk_memory_mb
    if isinstance(size, bool) or not isinstance(size, int) or size <= 0:
        raise RefusedError(f"{size!r} is no whole number above 0")


def input_length(config: SimpleNamespace) -> None:
    if config.generator.max_input_length is None:
        config.generator.max_input_length = config.trainer.max_prompt_length


def temperature(config: SimpleNamespace) -> None:
    if config.trainer.algorithm.temperature is None:
        config.trainer.algorithm.temperature = config.generator.sampling_params.temperature


def support_replay(config: SimpleNamespace) -> None:
    if not config.trainer.algorithm.enable_sample_support_replay:
        return
    if not config.generator.inference_engine.enable_return_sample_support_set:
        raise RefusedError("replaying sample support needs the engine to return it")
    if config.trainer.strategy not in ("megatron", "fsdp"):
        raise RefusedError("replaying sample support needs strategy=megatron or fsdp")
    if not config.generator.use_conversation_multi_turn:
        raise RefusedError("replaying sample support needs use_conversation_multi_turn=true")


def support_capture(config: SimpleNamespace) -> None:
    generator = config.generator
    if not generator.inference_engine.enable_return_sample_support_set:
        return
    sampling = generator.sampling_params
    if sampling.temperature <= 0:
        raise RefusedError("returning sample support needs a temperature above 0")
    if sampling.top_k <= 1:
        raise RefusedError("returning sample support needs top_k above 1")
    if sampling.repetition_penalty != 1.0:
        raise RefusedError("returning sample support needs repetition_penalty=1.0")
    if sampling.additional_kwargs:
        raise RefusedError("returning sample support works without additional_kwargs only")
    if generator.vision_language_generator:
        raise RefusedError("returning sample support does not work with images")


def routed_experts(config: SimpleNamespace) -> None:
    generator = config.generator
    if generator.inference_engine.enable_return_routed_experts and (
        generator.vision_language_generator
    ):
        raise RefusedError("returning routed experts does not work with images")


def loader_workers(config: SimpleNamespace) -> None:
    loader = config.data.dataloader
    if loader.num_workers is None:
        loader.num_workers = 8
    if loader.persistent_workers and loader.num_workers == 0:
        raise RefusedError("persistent workers need num_workers above 0")


def fp8_sync(config: SimpleNamespace) -> None:
    engine = config.generator.inference_engine
    if engine.fp8_weight_sync_mode is None:
        return
    if engine.fp8_weight_sync_mode not in ("blockwise", "mxfp8", "auto"):
        raise RefusedError(f"{engine.fp8_weight_sync_mode!r} is not blockwise, mxfp8 or auto")
    if config.trainer.strategy != "megatron":
        raise RefusedError("weights in FP8 need strategy=megatron")
    _ = config.trainer.placement.colocate_all
    if engine.weight_sync_backend in ("sharded_rdt", "rdt", "delta"):
        raise RefusedError(f"weights in FP8 cannot be sent by {engine.weight_sync_backend}")


def eager_lora(config: SimpleNamespace) -> None:
    engine = config.generator.inference_engine
    if _syncs_adapters(config) and engine.enforce_eager and engine.backend == "vllm":
        engine.enforce_eager = False


def _syncs_adapters(config: SimpleNamespace) -> bool:
    if config.trainer.policy.model.lora.rank <= 0:
        return False
    if config.trainer.strategy == "megatron":
        return not config.trainer.policy.megatron_config.lora_config.merge_lora
    return True
