"""Random override lists near the tutorial's: valid ones, and ones with mistakes people make."""

from random import Random

from app.recipes.skyrl.tree import KeyTree

BASE = (
    "data.train_data=['/tmp/visgym_train_256/train.parquet']",
    "data.val_data=['/tmp/visgym_eval_seeded/train.parquet']",
    "trainer.algorithm.advantage_estimator=grpo",
    "trainer.policy.model.path=/shared/models/visgym_sft_mixed_qwen3vl",
    "trainer.policy.model.lora.rank=32",
    "trainer.policy.model.lora.alpha=32",
    "trainer.policy.model.lora.lora_sync_path=/shared/lora",
    "trainer.placement.colocate_all=true",
    "trainer.strategy=fsdp",
    "trainer.placement.policy_num_nodes=3",
    "trainer.placement.policy_num_gpus_per_node=2",
    "generator.inference_engine.num_engines=6",
    "generator.inference_engine.gpu_memory_utilization=0.45",
    "generator.inference_engine.engine_init_kwargs.max_model_len=16000",
    "environment.env_class=visgym",
    "trainer.epochs=20",
    "trainer.train_batch_size=24",
    "trainer.policy_mini_batch_size=12",
    "trainer.max_prompt_length=2048",
    "generator.sampling_params.max_generate_length=1024",
    "generator.sampling_params.temperature=0.7",
    "generator.max_turns=15",
    "generator.max_input_length=8192",
    "generator.n_samples_per_prompt=8",
    "generator.vision_language_generator=true",
    "trainer.remove_microbatch_padding=false",
    "trainer.policy.optimizer_config.lr=3.0e-6",
    "trainer.ckpt_interval=20",
    "trainer.logger=console",
    "trainer.run_name=sft_grpo_20260101-000000",
    "trainer.resume_mode=latest",
    "trainer.ckpt_path=s3://bucket/skyrl-visgym/ckpts/sft-grpo",
)

# Right sides where YAML, OmegaConf and Python differ from what is typed.
VALUES = tuple(
    """
    1|0|-1|2.5|1e5|3e-6|1_000|017|0x1F|1:30|.5|1.|+1|.inf|-.inf|.nan|1e400|12345678901234567890123
    true|True|yes|on|off|No|y|null|Null|~|None|none|abc|a b|a=b|a: b|a:b|a #b|a#b|#x|'20'|"20"|''
    "a\\nb"|"\\u0041"|'it''s'|[1, 2]|[a,b]|['a','b']|[]|{}|{a: 1}|{a:1}|{a: {b: [1, x]}}|{1: x}
    {true: x}|{null: x}|[1,|{a: 1|'x|"x|x]|- x|-|- - x|? x|x:|@x|`x|%x|&x|&x 1|*x|[&a x, *a]|!x
    !!str 5|!!int '5'|!!binary aGk=|!!set {b}|!!timestamp 2020-01-01|2020-01-01
    !!python/name:os.system|===|==|=|<<|???|'???'|\\???|${trainer.epochs}|${trainer.project_name}|x${trainer.epochs}y|${nope}
    ${a|${}|\\${x}|'${trainer.epochs}'|"\\\\${x}"|${trainer}|${.seed}|${oc.select:trainer.seed,3}
    ${oc.decode:'1'}|${nope:1}|$x|$|s3://b/p|/x/y.parquet|~/x|{a: 1, a: 2}|{<<: {b: 1}}|x\\y|2048|8
    megatron|fsdp|triton|torch|rollout|old|binary_kl|auto|blockwise|delta|latest|[q_proj,v_proj]
    """.replace("\n    ", "|")
    .strip("|")
    .split("|")
)

# Keys that SkyRL looks at while it builds the config, and keys that it no longer has.
WATCHED = (
    "data.dataloader.num_workers",
    "data.dataloader.persistent_workers",
    "trainer.log_example_interval",
    "trainer.logprobs_chunk_size",
    "trainer.fused_lm_head_logprob",
    "trainer.strategy",
    "trainer.epochs",
    "trainer.fused_lm_head_logprob_backend",
    "trainer.vocab_entropy_chunk_size",
    "trainer.seed",
    "trainer.vocab_entropy_chunk_memory_mb",
    "trainer.algorithm.cispo.cispo_anchor",
    "trainer.run_name",
    "trainer.algorithm.dppo.dppo_type",
    "trainer.algorithm.temperature",
    "trainer.project_name",
    "trainer.policy.model.lora.rank",
    "trainer.policy.model.fake_int4_qat.enabled",
    "trainer.tags",
    "trainer.ref.model.path",
    "trainer.ref.model.fake_int4_qat.enabled",
    "generator.sampling_params.top_k",
    "trainer.critic.model.lora.rank",
    "trainer.critic.model.fake_int4_qat.enabled",
    "trainer.policy.megatron_config.lora_config.merge_lora",
    "trainer.policy.megatron_config.fp8",
    "trainer.policy.megatron_config.hf_export_config.save_every_n_ranks",
    "generator.max_input_length",
    "trainer.policy.megatron_config.transformer_config_kwargs",
    "generator.eval_sampling_params",
    "trainer.policy.megatron_config.transformer_config_kwargs.fp8",
    "generator.inference_engine.backend",
    "trainer.ref.megatron_config.optimizer_config_kwargs",
    "trainer.policy.fsdp_config.mixed_precision",
    "trainer.ref.megatron_config.optimizer_config_kwargs.x",
    "generator.use_conversation_multi_turn",
    "trainer.algorithm.enable_sample_support_replay",
    "generator.vision_language_generator",
    "generator.inference_engine.enable_return_sample_support_set",
    "trainer.placement.colocate_all",
    "generator.inference_engine.enable_return_routed_experts",
    "generator.sampling_params.temperature",
    "generator.inference_engine.fp8_weight_sync_mode",
    "generator.inference_engine.weight_sync_backend",
    "generator.inference_engine.enforce_eager",
    "generator.inference_engine.delta_weight_sync",
    "generator.inference_engine.delta_weight_sync.sync_dir",
    "generator.chat_template_kwargs.a.b",
    "generator.inference_engine.delta_weight_sync.publish_staging_dir",
    "generator.chat_template_kwargs",
    "generator.eval_sampling_params.temperature",
    "generator.eval_sampling_params.max_generate_length",
    "generator.sampling_params.max_generate_length",
    "generator.sampling_params.additional_kwargs",
    "generator.sampling_params.additional_kwargs.x",
    "generator.sampling_params.repetition_penalty",
    "trainer.use_sample_packing",
    "trainer.remove_microbatch_padding",
    "trainer.rope_theta",
    "generator.rope_parameters",
    "generator.inference_engine.rope_scaling",
    "generator.inference_engine.engine_init_kwargs.rope_theta",
    "generator.inference_engine.engine_init_kwargs.hf_overrides.rope_parameters",
    "generator.inference_engine.engine_init_kwargs.hf_overrides.rope_parameters.rope_theta",
    "trainer.policy.model_config_kwargs.rope_parameters",
    "trainer.policy.model_config_kwargs",
    "trainer.policy.megatron_config.transformer_config_kwargs.rope_parameters",
    "generator.inference_engine.async_engine",
    "generator.inference_engine.enable_http_endpoint",
    "generator.inference_engine.override_existing_update_group",
    "generator.inference_engine.remote_urls",
    "generator.inference_engine.engine_init_kwargs",
)
MISTAKES = 3


def draw(random: Random, tree: KeyTree) -> list[str]:
    """A part of the tutorial's overrides in order, with none to three changes."""
    args = random.sample(BASE, random.randint(0, len(BASE) // 3))
    for _ in range(random.randint(0, MISTAKES)):
        args.insert(random.randint(0, len(args)), _change(random, tree))
    if args and random.random() < 0.1:
        args.append(random.choice(args))
    return args


def _change(random: Random, tree: KeyTree) -> str:
    key = _key(random, tree)
    match random.randint(0, 19):
        case 0:
            return key
        case 1:
            return f"{random.choice(('+', '++', '~', '--', '-', ' '))}{key}={_value(random)}"
        case 2:
            return random.choice(
                ("", "=", "=x", "a", "a.b", "+", "trainer", "trainer.", ".", "[a]=1")
            )
    return f"{key}={_value(random)}"


def _key(random: Random, tree: KeyTree) -> str:
    match random.randint(0, 9):
        case 0 | 1 | 2:
            return random.choice(tree.leaves).key
        case 3:
            return random.choice(sorted(tree.groups))
        case 4:
            return _mistyped(random, random.choice(tree.leaves).key)
        case 5:
            deeper = random.choice(
                (".0", ".1", "[0]", ".x", ".x.y", "..x", ".", "[x", r"\.x", ".a-b")
            )
            return random.choice((random.choice(tree.leaves).key, "data.train_data")) + deeper
    return random.choice(WATCHED)


def _mistyped(random: Random, key: str) -> str:
    at = random.randrange(len(key))
    match random.randint(0, 3):
        case 0:
            return key[:at] + key[at + 1 :]
        case 1:
            return key[:at] + random.choice("abcxyz_.[]\\ ") + key[at:]
        case 2:
            return key.upper()
    return ".".join(key.split(".")[1:])


def _value(random: Random) -> str:
    value = random.choice(VALUES)
    if random.random() < 0.1:
        return f"[{value}, {random.choice(VALUES)}]"
    if random.random() < 0.1:
        name = random.choice(("epochs", "a", "temperature", "rank", "path", "model", "lora"))
        return f"{{{name}: {value}}}"
    return value
