"""Names of the keys that several rules read, and how messages call them."""

from collections.abc import Iterable
from functools import cache

from app.recipes.skyrl.tree import load_tree, shipped_versions


def name(key: str, *below: str) -> str:
    """A dotted key, of whose parts a formatted text shows those that tell it from all others.

    In a message `trainer.train_batch_size` is `train_batch_size`; `trainer.policy.model.lora.rank`
    is `policy.model.lora.rank`, since there are other ranks. Single words keep their group.
    """
    return _Name(".".join((str(key), *below)))


def listed(keys: Iterable[str]) -> str:
    """Keys as a message says them: `a, b and c`."""
    said = [f"{key}" for key in keys]
    return " and ".join((", ".join(said[:-1]), said[-1]) if len(said) > 1 else said)


class _Name(str):
    __slots__ = ()

    def __format__(self, _: str) -> str:
        return _shortest(str(self))


@cache
def _shortest(key: str) -> str:
    parts = key.split(".")
    known = [each for version in shipped_versions() for each in load_tree(version).keys]
    for length in range(1 if "_" in parts[-1] else 2, len(parts)):
        part = ".".join(parts[-length:])
        if not any(each.endswith(f".{part}") and each != key for each in known):
            return part
    return key


TRAIN = name("trainer.train_batch_size")
MINI = name("trainer.policy_mini_batch_size")
CRITIC_MINI = name("trainer.critic_mini_batch_size")
MICRO_TRAIN = name("trainer.micro_train_batch_size_per_gpu")
MICRO_FORWARD = name("trainer.micro_forward_batch_size_per_gpu")
SAMPLES = name("generator.n_samples_per_prompt")
STRATEGY = name("trainer.strategy")
ESTIMATOR = name("trainer.algorithm.advantage_estimator")
KL_LOSS = name("trainer.algorithm.use_kl_loss")
KL_REWARD = name("trainer.algorithm.use_kl_in_reward")
CRITIC = name("trainer.critic.model.path")

COLOCATE = name("trainer.placement.colocate_all")
COLOCATE_REF = name("trainer.placement.colocate_policy_ref")
NODES = name("trainer.placement.policy_num_nodes")
GPUS = name("trainer.placement.policy_num_gpus_per_node")
REF_NODES = name("trainer.placement.ref_num_nodes")
REF_GPUS = name("trainer.placement.ref_num_gpus_per_node")
CRITIC_NODES = name("trainer.placement.critic_num_nodes")
CRITIC_GPUS = name("trainer.placement.critic_num_gpus_per_node")

_ENGINE = "generator.inference_engine"
ENGINES = name(f"{_ENGINE}.num_engines")
TENSOR = name(f"{_ENGINE}.tensor_parallel_size")
PIPELINE = name(f"{_ENGINE}.pipeline_parallel_size")
DATA = name(f"{_ENGINE}.data_parallel_size")
EXPERT = name(f"{_ENGINE}.expert_parallel_size")
BACKEND = name(f"{_ENGINE}.backend")
EXECUTOR = name(f"{_ENGINE}.distributed_executor_backend")
WEIGHT_SYNC = name(f"{_ENGINE}.weight_sync_backend")
ENGINE_KWARGS = name(f"{_ENGINE}.engine_init_kwargs")
WINDOW = name(ENGINE_KWARGS, "max_model_len")
GPU_MEMORY = name(f"{_ENGINE}.gpu_memory_utilization")
ROUTED_EXPERTS = name(f"{_ENGINE}.enable_return_routed_experts")
SPECULATIVE = name(f"{_ENGINE}.speculative_config")
RUN_LOCALLY = name(f"{_ENGINE}.run_engines_locally")

TURNS = name("generator.max_turns")
MAX_INPUT = name("generator.max_input_length")
MAX_PROMPT = name("trainer.max_prompt_length")
MAX_GENERATE = name("generator.sampling_params.max_generate_length")
VISION = name("generator.vision_language_generator")
STEP_WISE = name("generator.step_wise_trajectories")
MERGE_STEP_WISE = name("generator.merge_stepwise_output")
PADDING = name("trainer.remove_microbatch_padding")

RANK = name("trainer.policy.model.lora.rank")
SYNC_PATH = name("trainer.policy.model.lora.lora_sync_path")
SYNC_MODE = name("trainer.policy.model.lora.sync_mode")
TARGETS = name("trainer.policy.model.lora.target_modules")
EXCLUDES = name("trainer.policy.model.lora.exclude_modules")
LR = name("trainer.policy.optimizer_config.lr")

CKPT_PATH = name("trainer.ckpt_path")
CKPT_EVERY = name("trainer.ckpt_interval")
EXPORT_PATH = name("trainer.export_path")
EXPORT_EVERY = name("trainer.hf_save_interval")
EVAL_EVERY = name("trainer.eval_interval")
RESUME = name("trainer.resume_mode")
RESUME_PATH = name("trainer.resume_path")
EPOCHS = name("trainer.epochs")

POLICY_SP = name("trainer.policy.sequence_parallel_size")
REF_SP = name("trainer.ref.sequence_parallel_size")
CRITIC_SP = name("trainer.critic.sequence_parallel_size")
MEGATRON_POLICY = "trainer.policy.megatron_config"
MEGATRON_REF = "trainer.ref.megatron_config"
MERGE_LORA = name(f"{MEGATRON_POLICY}.lora_config.merge_lora")
