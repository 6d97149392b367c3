#!/usr/bin/env bash
# The by-hand script of the public tutorial, rebuilt from its description.
set -euxo pipefail

cd /home/ray/skyrl
export HF_HUB_ENABLE_HF_TRANSFER=0
export SKYRL_RAY_PG_TIMEOUT_IN_S=600

RUN_ID=$(date +%Y%m%d-%H%M%S)
EXPORT_PATH="/shared/runs/${RUN_ID}-train"
ENV_ID="maze_2d/easy"
TRAIN_DIR=/tmp/visgym_train_256
EVAL_DIR=/tmp/visgym_eval_seeded
SFT_CKPT=/shared/models/visgym_sft_mixed_qwen3vl
CKPT_BUCKET="${CKPT_BUCKET:-bucket}"

# The checkpoint is downloaded once.
if [ ! -f "${SFT_CKPT}/config.json" ]; then
  mkdir -p /shared/models
  huggingface-cli download VisGym/visgym_model \
    --include "mixed_qwen3vl/*" \
    --local-dir /shared/models/visgym_sft_download
  mv /shared/models/visgym_sft_download/mixed_qwen3vl "${SFT_CKPT}"
fi

python examples/train/visgym/dataset.py --env_id "$ENV_ID" --num_rows 256 --output_dir "$TRAIN_DIR"
python examples/train/visgym/dataset.py --env_id "$ENV_ID" --num_rows 64 --seed --output_dir "$EVAL_DIR"

python examples/train/visgym/entrypoint.py \
  --env_variant sft \
  data.train_data="['${TRAIN_DIR}/train.parquet']" \
  data.val_data="['${EVAL_DIR}/train.parquet']" \
  trainer.algorithm.advantage_estimator="grpo" \
  trainer.policy.model.path="$SFT_CKPT" \
  trainer.policy.model.lora.rank=32 \
  trainer.policy.model.lora.alpha=32 \
  trainer.policy.model.lora.lora_sync_path="/shared/lora" \
  trainer.placement.colocate_all=true \
  trainer.strategy=fsdp \
  trainer.placement.policy_num_nodes=3 \
  trainer.placement.policy_num_gpus_per_node=2 \
  trainer.placement.ref_num_nodes=3 \
  trainer.placement.ref_num_gpus_per_node=2 \
  trainer.ref.fsdp_config.cpu_offload=false \
  generator.inference_engine.num_engines=6 \
  generator.inference_engine.tensor_parallel_size=1 \
  generator.inference_engine.gpu_memory_utilization=0.45 \
  generator.inference_engine.engine_init_kwargs.max_model_len=16000 \
  environment.env_class=visgym \
  trainer.epochs=20 \
  trainer.train_batch_size=24 \
  trainer.policy_mini_batch_size=12 \
  trainer.micro_forward_batch_size_per_gpu=1 \
  trainer.micro_train_batch_size_per_gpu=1 \
  trainer.update_epochs_per_batch=1 \
  trainer.max_prompt_length=2048 \
  generator.sampling_params.max_generate_length=1024 \
  generator.sampling_params.temperature=0.7 \
  generator.max_turns=15 \
  generator.max_input_length=8192 \
  generator.n_samples_per_prompt=8 \
  generator.vision_language_generator=true \
  generator.batched=false \
  trainer.remove_microbatch_padding=false \
  trainer.algorithm.use_kl_loss=false \
  trainer.policy.optimizer_config.lr=3.0e-6 \
  trainer.eval_interval=10 \
  trainer.eval_before_train=true \
  trainer.ckpt_interval=20 \
  trainer.hf_save_interval=20 \
  trainer.logger="console" \
  trainer.project_name="vlm_maze_2d_easy" \
  trainer.run_name="sft_grpo_${RUN_ID}" \
  trainer.resume_mode=latest \
  trainer.log_path="/tmp/skyrl-logs" \
  trainer.dump_eval_results=true \
  trainer.export_path="$EXPORT_PATH" \
  trainer.ckpt_path="s3://${CKPT_BUCKET}/skyrl-visgym/ckpts/sft-grpo"
