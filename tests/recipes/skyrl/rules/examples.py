"""For each error: overrides on the tutorial's config that break its rule, and some that do not."""

from app.recipes.skyrl.rules import Context
from tests.recipes.skyrl.rules.example import APART, ENGINE, SAMPLES_1, Example
from tests.recipes.skyrl.rules.tutorial import CLUSTER, RELEASE, TRAIN

_PLACE = "trainer.placement"
_PROFILER = "trainer.policy.torch_profiler_config"
_MEGATRON = "trainer.policy.megatron_config"
_CRITIC = ("trainer.critic.model.path=x", "trainer.critic_mini_batch_size=12")
_ON_MEGATRON = ("trainer.strategy=megatron", "trainer.policy.model.lora.rank=0")
_KL = ("trainer.algorithm.use_kl_loss=true",)
_PROFILED = (
    f"{_PROFILER}.enable=true",
    f"{_PROFILER}.save_path=/tmp/profile",
    "trainer.policy.fsdp_config.cpu_offload=true",
)


def _release(fails: tuple[str, ...], passes: tuple[str, ...] = ()) -> Example:
    return Example(fails=fails, passes=passes, version=RELEASE)


ERRORS: dict[str, Example] = {
    "V1.training_steps_positive": Example(
        fails=("trainer.max_training_steps=0",), passes=("trainer.max_training_steps=1",)
    ),
    "V2.input_length": Example(
        fails=("generator.max_turns=1",),
        passes=("generator.max_turns=1", "generator.max_input_length=2048"),
    ),
    "V3.wandb_key": Example(
        fails=("trainer.logger=wandb",),
        passes=("trainer.logger=wandb",),
        known_passing=Context(environment={"WANDB_API_KEY": "from a secret"}),
    ),
    "V4.logprobs": Example(
        fails=("generator.sampling_params.logprobs=2",),
        passes=("generator.sampling_params.logprobs=null",),
    ),
    "V5.prefill": Example(
        fails=(f"{ENGINE}.enable_pd=true", f"{ENGINE}.num_prefill=6"),
        passes=(f"{ENGINE}.enable_pd=true", f"{ENGINE}.num_prefill=5"),
    ),
    "V6.expert_parallel": Example(
        fails=(f"{ENGINE}.expert_parallel_size=4",),
        passes=(
            f"{ENGINE}.expert_parallel_size=2",
            f"{ENGINE}.tensor_parallel_size=2",
            f"{ENGINE}.num_engines=3",
        ),
    ),
    "V7.executor": Example(
        fails=(f"{ENGINE}.distributed_executor_backend=local",),
        passes=(f"{ENGINE}.distributed_executor_backend=mp",),
    ),
    "V8.engine_in_node": Example(
        fails=(
            f"{ENGINE}.distributed_executor_backend=mp",
            f"{ENGINE}.tensor_parallel_size=3",
            f"{ENGINE}.num_engines=2",
        ),
        passes=(f"{ENGINE}.tensor_parallel_size=3", f"{ENGINE}.num_engines=2"),
    ),
    "V9.routed_experts": Example(
        fails=(f"{ENGINE}.enable_return_routed_experts=true",),
        passes=(
            *_ON_MEGATRON,
            f"{ENGINE}.enable_return_routed_experts=true",
            f"{ENGINE}.distributed_executor_backend=mp",
            f"{_MEGATRON}.moe_enable_routing_replay=true",
        ),
    ),
    "V10.offload_kv": Example(
        fails=(f"{ENGINE}.offload_kv_for_weight_sync=true",),
        passes=(
            *APART,
            f"{ENGINE}.offload_kv_for_weight_sync=true",
            "trainer.policy.model.lora.rank=0",
        ),
    ),
    "V11.external_colocated": Example(
        fails=(f"{ENGINE}.external_proxy_url=http://engine:8000",),
        passes=(*APART, f"{ENGINE}.external_proxy_url=http://engine:8000"),
    ),
    "V11.engines_somewhere": Example(
        fails=(f"{ENGINE}.run_engines_locally=false",),
        passes=(
            *APART,
            f"{ENGINE}.run_engines_locally=false",
            f"{ENGINE}.external_server_urls=['http://engine:8000']",
        ),
    ),
    "V12.sequence_parallel_backend": Example(
        fails=("trainer.sequence_parallel_backend=ring",),
        passes=("trainer.sequence_parallel_backend=ulysses",),
    ),
    "V13.critic_for_gae": Example(
        fails=("trainer.algorithm.advantage_estimator=gae",),
        passes=("trainer.algorithm.advantage_estimator=gae", *_CRITIC),
    ),
    "V14.one_kl": Example(
        fails=(*_KL, "trainer.algorithm.use_kl_in_reward=true"),
        passes=("trainer.algorithm.use_kl_in_reward=true",),
    ),
    "V15.text_only": Example(
        fails=("trainer.policy.language_model_only=true",),
        passes=("trainer.policy.language_model_only=true", f"{ENGINE}.language_model_only=true"),
    ),
    "V16.train_at_least_mini": Example(
        fails=("trainer.policy_mini_batch_size=48",), passes=("trainer.policy_mini_batch_size=24",)
    ),
    "V16.mini_positive": Example(
        fails=("trainer.policy_mini_batch_size=0",), passes=("trainer.policy_mini_batch_size=3",)
    ),
    "V16.micro_train_positive": Example(
        fails=("trainer.micro_train_batch_size_per_gpu=0",),
        passes=("trainer.micro_train_batch_size_per_gpu=2",),
    ),
    "V16.micro_forward_positive": Example(
        fails=("trainer.micro_forward_batch_size_per_gpu=-1",),
        passes=("trainer.micro_forward_batch_size_per_gpu=5",),
    ),
    "V16.dp_size": Example(
        fails=("trainer.policy.sequence_parallel_size=0",),
        passes=("trainer.policy.sequence_parallel_size=2",),
    ),
    "V16.train_divides_mini": Example(
        fails=("trainer.policy_mini_batch_size=10",), passes=("trainer.policy_mini_batch_size=8",)
    ),
    "V16.mini_covers_gpus": Example(
        fails=(*SAMPLES_1, "trainer.policy_mini_batch_size=4"),
        passes=(*SAMPLES_1, "trainer.policy_mini_batch_size=6"),
    ),
    "V16.mini_divides_micro": Example(
        fails=("trainer.micro_train_batch_size_per_gpu=5",),
        passes=("trainer.micro_train_batch_size_per_gpu=8",),
    ),
    "V16.train_divides_mini_per_gpu": Example(
        fails=(
            *SAMPLES_1,
            "trainer.train_batch_size=30",
            "trainer.policy_mini_batch_size=15",
            f"{_PLACE}.policy_num_nodes=2",
            f"{ENGINE}.num_engines=4",
        ),
        passes=(*SAMPLES_1, "trainer.train_batch_size=28", "trainer.policy_mini_batch_size=14"),
    ),
    "V16.train_covers_dp": Example(
        fails=(
            *_KL,
            "trainer.train_batch_size=3",
            "trainer.policy_mini_batch_size=3",
            f"{_PLACE}.ref_num_nodes=1",
            f"{_PLACE}.ref_num_gpus_per_node=5",
        ),
        passes=(*_KL, "trainer.train_batch_size=3", "trainer.policy_mini_batch_size=3"),
    ),
    "V17.ckpts_kept": Example(
        fails=("trainer.max_ckpts_to_keep=0",), passes=("trainer.max_ckpts_to_keep=3",)
    ),
    "V18.profiler_lists": Example(
        fails=(*_PROFILED, f"{_PROFILER}.ranks=[]"), passes=(*_PROFILED, f"{_PROFILER}.ranks=[1]")
    ),
    "V18.profiler_activities": Example(
        fails=(*_PROFILED, f"{_PROFILER}.activities=[gpu]"),
        passes=(*_PROFILED, f"{_PROFILER}.activities=[CPU]"),
    ),
    "V18.profiler_path": Example(
        fails=(*_PROFILED, f"{_PROFILER}.save_path=s3://bucket/profile"), passes=_PROFILED
    ),
    "V18.profiler_export": Example(
        fails=(*_PROFILED, f"{_PROFILER}.export_type=stacks", f"{_PROFILER}.with_stack=false"),
        passes=(*_PROFILED, f"{_PROFILER}.export_type=stacks"),
    ),
    "V18.profiler_schedule": Example(
        fails=(*_PROFILED, f"{_PROFILER}.active=0"), passes=(*_PROFILED, f"{_PROFILER}.wait=0")
    ),
    "V18.profiler_offload": Example(
        fails=(*_PROFILED, "trainer.policy.fsdp_config.cpu_offload=false"), passes=_PROFILED
    ),
    "V19.policy_loss_type": Example(
        fails=("trainer.algorithm.policy_loss_type=dual-clip",),
        passes=("trainer.algorithm.policy_loss_type=dual_clip",),
    ),
    "V19.advantage_estimator": Example(
        fails=("trainer.algorithm.advantage_estimator=ppo",),
        passes=("trainer.algorithm.advantage_estimator=rloo",),
    ),
    "V19.loss_reduction": Example(
        fails=("trainer.algorithm.loss_reduction=mean",),
        passes=("trainer.algorithm.loss_reduction=sequence_mean",),
    ),
    "V20.step_wise_estimator": Example(
        fails=(
            "generator.step_wise_trajectories=true",
            "trainer.algorithm.advantage_estimator=reinforce++",
        ),
        passes=("trainer.algorithm.advantage_estimator=reinforce++",),
    ),
    "V20.step_wise_reduction": Example(
        fails=(
            "generator.step_wise_trajectories=true",
            "trainer.algorithm.loss_reduction=token_mean_legacy",
        ),
        passes=("trainer.algorithm.loss_reduction=token_mean_legacy",),
    ),
    "V20.merge_needs_step_wise": Example(
        fails=("generator.merge_stepwise_output=true",),
        passes=("generator.merge_stepwise_output=true", "generator.step_wise_trajectories=true"),
    ),
    "V21.max_seq_len": Example(
        fails=("trainer.algorithm.loss_reduction=seq_mean_token_sum_norm",),
        passes=(
            "trainer.algorithm.loss_reduction=seq_mean_token_sum_norm",
            "trainer.algorithm.max_seq_len=16000",
        ),
    ),
    "V22.tis_ratio_type": Example(
        fails=("trainer.algorithm.off_policy_correction.tis_ratio_type=tokens",),
        passes=("trainer.algorithm.off_policy_correction.tis_ratio_type=token",),
    ),
    "V22.sequence_mask_metric": Example(
        fails=("trainer.algorithm.off_policy_correction.sequence_mask_metric=mean",),
        passes=("trainer.algorithm.off_policy_correction.sequence_mask_metric=product",),
    ),
    "V22.correction_loss": Example(
        fails=("trainer.algorithm.use_tis=true", "trainer.algorithm.policy_loss_type=kl_cov"),
        passes=("trainer.algorithm.policy_loss_type=kl_cov",),
    ),
    "V23.lora_backend": Example(
        fails=(f"{ENGINE}.backend=sglang",),
        passes=(f"{ENGINE}.backend=sglang", "trainer.policy.model.lora.rank=0"),
    ),
    "V23.lora_weight_sync": Example(
        fails=(f"{ENGINE}.weight_sync_backend=delta",),
        passes=(f"{ENGINE}.weight_sync_backend=delta", "trainer.policy.model.lora.rank=0"),
    ),
    "V24.rollout_gpus": Example(
        fails=(f"{ENGINE}.num_engines=5",),
        passes=(f"{ENGINE}.num_engines=3", f"{ENGINE}.pipeline_parallel_size=2"),
    ),
    "V24.ref_beside_policy": Example(
        fails=(*APART, *_KL, f"{_PLACE}.ref_num_gpus_per_node=1"),
        passes=(
            *APART,
            *_KL,
            f"{_PLACE}.ref_num_gpus_per_node=1",
            f"{_PLACE}.colocate_policy_ref=false",
        ),
    ),
    "V25.megatron_weight_sync": Example(
        fails=(*_ON_MEGATRON, f"{ENGINE}.weight_sync_backend=foo"),
        passes=(*_ON_MEGATRON, f"{ENGINE}.weight_sync_backend=delta"),
    ),
    "V25.megatron_critic": Example(fails=(*_ON_MEGATRON, *_CRITIC), passes=_ON_MEGATRON),
    "V25.megatron_replay": Example(
        fails=(*_ON_MEGATRON, f"{_MEGATRON}.moe_enable_routing_replay=true"), passes=_ON_MEGATRON
    ),
    "V25.megatron_context": Example(
        fails=(*_ON_MEGATRON, f"{_MEGATRON}.context_parallel_size=2"),
        passes=(
            *_ON_MEGATRON,
            f"{_MEGATRON}.context_parallel_size=2",
            "trainer.remove_microbatch_padding=true",
        ),
    ),
    "V25.megatron_sequence_parallel": Example(
        fails=(*_ON_MEGATRON, "trainer.ref.sequence_parallel_size=2"),
        passes=("trainer.ref.sequence_parallel_size=2",),
    ),
    "V25.megatron_world": Example(
        fails=(*_ON_MEGATRON, f"{_MEGATRON}.tensor_model_parallel_size=4"),
        passes=(*_ON_MEGATRON, f"{_MEGATRON}.tensor_model_parallel_size=3"),
    ),
    "V25.multi_token_prediction": Example(
        fails=("trainer.mtp.enabled=true", "trainer.mtp.num_speculative_tokens=0"),
        passes=("trainer.mtp.enabled=true",),
    ),
    "V26.lora_sync_mode": _release(
        ("trainer.policy.model.lora.sync_mode=memory",),
        ("trainer.policy.model.lora.sync_mode=disk",),
    ),
    "V26.role_kwargs": _release((f"{ENGINE}.prefill_init_kwargs={{kv_transfer_config: x}}",), ()),
    "V26.speculative": _release(
        (f"{ENGINE}.speculative_config={{method: mtp}}",),
        (*_ON_MEGATRON, f"{ENGINE}.speculative_config={{method: mtp}}"),
    ),
    "V26.fp8_weight_sync": _release(
        (
            *_ON_MEGATRON,
            f"{ENGINE}.fp8_weight_sync_mode=blockwise",
            "trainer.policy.model.lora.rank=32",
            f"{_MEGATRON}.lora_config.merge_lora=false",
        ),
        (*_ON_MEGATRON, f"{ENGINE}.fp8_weight_sync_mode=blockwise"),
    ),
    "V26.merge_routed": _release(
        (
            "generator.vision_language_generator=false",
            "generator.step_wise_trajectories=true",
            "generator.merge_stepwise_output=true",
            f"{ENGINE}.enable_return_routed_experts=true",
        ),
        (
            "generator.step_wise_trajectories=true",
            "generator.merge_stepwise_output=true",
        ),
    ),
    "V26.outer_loras": _release(
        (
            f"{_MEGATRON}.lora_config.experts_shared_outer_loras=true",
            f"{_MEGATRON}.lora_config.lora_type=canonical_lora",
        ),
        (f"{_MEGATRON}.lora_config.experts_shared_outer_loras=true",),
    ),
    "E1.whole_strides": Example(
        fails=("trainer.train_batch_size=32", "trainer.policy_mini_batch_size=16"),
        passes=("trainer.train_batch_size=30", "trainer.policy_mini_batch_size=15"),
    ),
    "E2.rows_cover_batch": Example(
        fails=("trainer.train_batch_size=264",),
        passes=("trainer.train_batch_size=252",),
        known=Context(train=TRAIN),
    ),
    "E3.ref_gpus": Example(
        fails=(*_KL, f"{_PLACE}.ref_num_nodes=1"), passes=(f"{_PLACE}.ref_num_nodes=1",)
    ),
    "E3.critic_gpus": Example(
        fails=_CRITIC,
        passes=(*_CRITIC, f"{_PLACE}.critic_num_nodes=3", f"{_PLACE}.critic_num_gpus_per_node=2"),
    ),
    "E4.resume_mode": Example(fails=("trainer.resume_mode=foo",), passes=("trainer.resume_mode=",)),
    "E4.resume_path": Example(
        fails=("trainer.resume_mode=from_path", "trainer.resume_path=/shared/global_step_5/policy"),
        passes=("trainer.resume_mode=from_path", "trainer.resume_path=/shared/global_step_5"),
    ),
    "E5.logger": Example(
        fails=("trainer.logger=[console,wandb]",), passes=("trainer.logger=mlflow",)
    ),
    "E6.vision_generator": Example(
        fails=("generator.batched=true",),
        passes=("generator.batched=true", "generator.vision_language_generator=false"),
    ),
    "E6.vision_padding": Example(
        fails=("trainer.remove_microbatch_padding=true",),
        passes=(
            "trainer.remove_microbatch_padding=true",
            "generator.vision_language_generator=false",
        ),
    ),
    "E7.strategy": Example(
        fails=("trainer.strategy=deepspeed",), passes=("trainer.strategy=fsdp2",)
    ),
    "E8.sequence_parallel": Example(
        fails=("trainer.policy.sequence_parallel_size=4",),
        passes=("trainer.policy.sequence_parallel_size=3",),
    ),
    "E9.cluster_gpus": Example(
        fails=(f"{_PLACE}.policy_num_nodes=4", f"{ENGINE}.num_engines=8"),
        passes=(),
        cluster=CLUSTER,
    ),
    "E9.node_gpus": Example(
        fails=(f"{_PLACE}.policy_num_nodes=1", f"{_PLACE}.policy_num_gpus_per_node=6"),
        passes=(f"{_PLACE}.policy_num_nodes=2", f"{ENGINE}.num_engines=4"),
        cluster=CLUSTER,
    ),
    "E10.backend": Example(
        fails=(f"{ENGINE}.backend=sglang", "trainer.policy.model.lora.rank=0"),
        passes=(f"{ENGINE}.backend=vllm",),
    ),
    "E10.gpu_memory": Example(
        fails=(f"{ENGINE}.gpu_memory_utilization=45",),
        passes=(f"{ENGINE}.gpu_memory_utilization=1",),
    ),
    "E10.weight_sync": Example(
        fails=(f"{ENGINE}.weight_sync_backend=gloo",),
        passes=(f"{ENGINE}.weight_sync_backend=nccl",),
    ),
    "E11.window": Example(
        fails=(f"{ENGINE}.engine_init_kwargs.max_model_len=9000",),
        passes=(f"{ENGINE}.engine_init_kwargs.max_model_len=9216",),
    ),
}
