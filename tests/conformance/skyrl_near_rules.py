"""Random override lists around the rules of SkyRL's check: some pass, most break one or two."""

from random import Random

_SIZES = tuple(map(str, (*range(1, 7), 8, 10, 12, 16, 18, 20, 24, 30, 32, 36, 48, 64, 96)))
_NUMBERS = (
    *(*_SIZES, *_SIZES),
    *("0", "-1", "abc", "'8'", "2.0", "2.5", "null", "true", "false", ".nan", ".inf"),
    *("[1]", "1e3", "{}"),
)
_SWITCHES = (*("true", "false") * 4, "null", "0", "1", "abc", "''", "[]")
_ENGINE = "generator.inference_engine"
_PLACE = "trainer.placement"
_ALGORITHM = "trainer.algorithm"
_MEGATRON = "trainer.policy.megatron_config"
_PROFILER = "trainer.policy.torch_profiler_config"

_NUMBER_KEYS = """
    trainer.train_batch_size trainer.policy_mini_batch_size trainer.critic_mini_batch_size
    trainer.micro_train_batch_size_per_gpu trainer.micro_forward_batch_size_per_gpu
    generator.n_samples_per_prompt generator.max_turns
    {P}.policy_num_nodes {P}.policy_num_gpus_per_node {P}.ref_num_nodes {P}.ref_num_gpus_per_node
    {P}.critic_num_nodes {P}.critic_num_gpus_per_node trainer.policy.sequence_parallel_size
    trainer.ref.sequence_parallel_size trainer.critic.sequence_parallel_size {E}.num_engines
    {E}.tensor_parallel_size {E}.pipeline_parallel_size {E}.data_parallel_size {E}.num_prefill
    {E}.expert_parallel_size {M}.tensor_model_parallel_size {M}.context_parallel_size
    {M}.pipeline_model_parallel_size trainer.ref.megatron_config.tensor_model_parallel_size
    trainer.mtp.num_speculative_tokens {T}.skip_first {T}.active
"""
_SWITCH_KEYS = """
    {E}.enable_pd {E}.enable_return_routed_experts {E}.offload_kv_for_weight_sync
    {E}.run_engines_locally {E}.language_model_only {P}.colocate_all {P}.colocate_policy_ref
    {A}.use_kl_loss {A}.use_kl_in_reward {A}.use_tis generator.step_wise_trajectories
    generator.merge_stepwise_output trainer.policy.language_model_only trainer.mtp.enabled
    trainer.ref.language_model_only {M}.moe_enable_routing_replay {M}.lora_config.merge_lora
    {M}.transformer_config_kwargs.moe_router_fusion trainer.remove_microbatch_padding
    {M}.lora_config.experts_shared_outer_loras {T}.enable {T}.with_stack
    trainer.policy.fsdp_config.cpu_offload
"""
_OTHER_KEYS = """
    {E}.distributed_executor_backend=mp|ray|local|null
    {E}.backend=vllm|vllm|sglang
    {E}.weight_sync_backend=nccl|delta|foo|[1]|sharded_rdt
    {E}.external_proxy_url=http://engine|null|''
    {E}.external_server_urls=['http://engine']|[]|null
    {E}.speculative_config=null|{{method: mtp}}|{{method: eagle}}|{{}}|abc
    {E}.prefill_init_kwargs={{}}|{{kv_transfer_config: 1}}|{{a: 1}}
    {E}.decode_init_kwargs={{}}|{{kv_transfer_config: 1}}
    {A}.advantage_estimator=grpo|gae|rloo|reinforce++|maxrl|foo|null
    {A}.policy_loss_type=regular|dual_clip|clip_cov|kl_cov|foo|[1]
    {A}.loss_reduction=token_mean|token_mean_legacy|seq_mean_token_sum_norm|foo
    {A}.max_seq_len=null|16000|abc
    {A}.off_policy_correction.tis_ratio_type=token|sequence|x|null|''|0
    {A}.off_policy_correction.sequence_mask_metric=product|geometric|x|null|''
    trainer.critic.model.path=x|null|''
    trainer.strategy=fsdp|fsdp2|megatron|deepspeed|null
    trainer.sequence_parallel_backend=ulysses|ring
    trainer.max_training_steps=null|10|0|-1|abc|1.5|false
    trainer.max_ckpts_to_keep=-1|0|3|false|null|0.0
    trainer.max_prompt_length=2048|512|8192|abc|null|[1]
    trainer.logger=console|wandb|mlflow|foo|[console]
    trainer.policy.model.lora.rank=0|32|abc|null|-1|.nan|true
    trainer.policy.model.lora.sync_mode=disk|memory|x|[1]
    generator.max_input_length=8192|2048|1024|null|abc|2048.0|true
    generator.sampling_params.logprobs=null|0|1|2|abc|1.0|true|[]
    {M}.mtp_num_layers=0|null|1
    {M}.lora_config.lora_type=lora|canonical_lora
    {T}.save_path=/tmp/x|rel|s3://b/x|null|3
    {T}.ranks=[0]|[]|3|0
    {T}.activities=[cpu]|[CUDA,cpu]|[x]|[]|cpu|[1]|5
    {T}.export_type=chrome_trace|stacks|x
"""


def draw(random: Random, base: tuple[str, ...]) -> list[str]:
    """The base, sometimes on other GPUs and with other models, and up to three changes."""
    args = list(base)
    if random.random() < 0.6:
        args += _other_gpus(random)
    if random.random() < 0.15:
        args += ["trainer.strategy=megatron", "trainer.policy.model.lora.rank=0"]
    if random.random() < 0.15:
        args += ["trainer.critic.model.path=x", "trainer.critic_mini_batch_size=12"]
    for key in random.sample(list(POOL), random.choice((0, 1, 1, 1, 2, 2, 3))):
        args.append(f"{key}={random.choice(POOL[key])}")
    return args


def _other_gpus(random: Random) -> list[str]:
    nodes, gpus = random.choice((1, 2, 3, 4)), random.choice((1, 2, 4, 8))
    mini = random.choice((4, 6, 8, 12, 16))
    return [
        f"{_PLACE}.policy_num_nodes={nodes}",
        f"{_PLACE}.policy_num_gpus_per_node={gpus}",
        f"{_PLACE}.ref_num_nodes={nodes}",
        f"{_PLACE}.ref_num_gpus_per_node={gpus}",
        f"{_ENGINE}.num_engines={nodes * gpus}",
        f"trainer.train_batch_size={mini * random.choice((1, 2, 3, 4))}",
        f"trainer.policy_mini_batch_size={mini}",
        f"generator.n_samples_per_prompt={random.choice((1, 4, 5, 8))}",
    ]


def _pool() -> dict[str, tuple[str, ...]]:
    short = {"P": _PLACE, "E": _ENGINE, "A": _ALGORITHM, "M": _MEGATRON, "T": _PROFILER}
    pool = dict.fromkeys(_NUMBER_KEYS.format(**short).split(), _NUMBERS)
    pool |= dict.fromkeys(_SWITCH_KEYS.format(**short).split(), _SWITCHES)
    for line in _OTHER_KEYS.format(**short).strip().splitlines():
        key, _, values = line.strip().partition("=")
        pool[key] = tuple(values.split("|"))
    return pool


POOL = _pool()
"""Keys that SkyRL's check reads, with values to try."""
