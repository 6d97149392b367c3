"""For each warning and note: overrides on the tutorial's config that call for it, and others."""

from dataclasses import replace

from app.recipes.skyrl.rules import Context, DataSet, OtherRun
from tests.recipes.skyrl.rules.example import APART, ENGINE, KNOWN, SAMPLES_1, Example
from tests.recipes.skyrl.rules.tutorial import CLUSTER, EVALUATION


def _other(**paths: str) -> Context:
    return Context(other_runs=(OtherRun(name="maze-1", **paths),))


WARNINGS: dict[str, Example] = {
    "trap.lora_cloud_ckpt": Example(passes=("trainer.ckpt_path=/shared/runs/1/ckpts",)),
    "trap.ckpt_node_local": Example(
        fails=("trainer.ckpt_path=~/ckpts/",), passes=("trainer.ckpt_path=/shared/ckpts",)
    ),
    "trap.ckpt_shared": Example(
        fails=("trainer.ckpt_path=/shared/runs/1/ckpts/",),
        passes=("trainer.ckpt_path=/shared/runs/2/ckpts",),
        known=_other(ckpt_path="/shared/runs/1/ckpts"),
    ),
    "trap.export_cloud": Example(fails=("trainer.export_path=s3://bucket/exports",)),
    "trap.export_node_local": Example(fails=("trainer.export_path=/home/ray/exports",)),
    "trap.no_dump": Example(fails=("trainer.dump_eval_results=false",)),
    "trap.no_ckpt_interval": Example(fails=("trainer.ckpt_interval=-1",)),
    "trap.no_export_interval": Example(fails=("trainer.hf_save_interval=-1",)),
    "trap.no_eval_interval": Example(fails=("trainer.eval_interval=0",)),
    "trap.saves_at_epoch_end": Example(
        passes=("trainer.ckpt_interval=5", "trainer.hf_save_interval=10"), known=KNOWN
    ),
    "trap.resume_loses_epoch": Example(
        passes=("trainer.resume_mode=null",),
        known=KNOWN,
    ),
    "trap.unseeded_rows": Example(
        known=Context(train=DataSet(rows=256, seed_key="trainer.seed"), evaluation=EVALUATION),
        known_passing=Context(train=DataSet(rows=256, seeds=range(1000, 1256))),
    ),
    "trap.eval_seeds_trained": Example(
        known=Context(train=DataSet(rows=256, seeds=range(256)), evaluation=EVALUATION),
        known_passing=Context(train=DataSet(rows=256, seeds=range(64, 320)), evaluation=EVALUATION),
    ),
    "trap.turns_too_few": Example(passes=("generator.max_turns=17",), known=KNOWN),
    "trap.lora_vision_tower": Example(
        passes=("trainer.policy.model.lora.exclude_modules='.*visual.*'",)
    ),
    "trap.lora_engine_rank": Example(
        fails=("trainer.policy.model.lora.rank=24",), passes=("trainer.policy.model.lora.rank=16",)
    ),
    "trap.lora_endpoint_rank": Example(
        fails=("trainer.policy.model.lora.rank=64",),
        known=Context(endpoint_max_lora_rank=32),
    ),
    "trap.lora_sync_local": Example(
        fails=("trainer.policy.model.lora.lora_sync_path=/tmp/skyrl_lora_sync",)
    ),
    "trap.lora_sync_shared": Example(
        passes=("trainer.policy.model.lora.lora_sync_path=/shared/lora-2",),
        known=_other(lora_sync_path="/shared/lora/"),
    ),
    "trap.context_of_turns": Example(
        passes=("generator.sampling_params.max_generate_length=256",),
    ),
    "trap.eval_sampling": Example(
        fails=("generator.eval_sampling_params.top_p=0.9",),
        passes=("generator.eval_sampling_params.temperature=0.0",),
    ),
    "trap.colocated_memory": Example(
        fails=(f"{ENGINE}.gpu_memory_utilization=0.9",),
        passes=(*APART, f"{ENGINE}.gpu_memory_utilization=0.9"),
    ),
    "trap.prints_examples": Example(passes=("trainer.print_example_interval=-1",)),
    "trap.mlflow_unheard": Example(
        fails=("trainer.logger=mlflow",),
        passes=("trainer.logger=mlflow",),
        known=Context(cluster=CLUSTER),
        known_passing=Context(cluster=replace(CLUSTER, reaches_us=True)),
    ),
    "trap.learning_rate": Example(fails=("trainer.policy.optimizer_config.lr=0",)),
    "trap.one_sample": Example(fails=SAMPLES_1),
    "note.learning_rate": Example(fails=("trainer.policy.optimizer_config.lr=0.01",)),
    "note.updates_per_batch": Example(
        fails=("trainer.update_epochs_per_batch=10",), passes=("trainer.update_epochs_per_batch=8",)
    ),
    "note.small_mini_batch": Example(fails=("trainer.policy_mini_batch_size=3",)),
    "note.log_node_local": Example(passes=("trainer.log_path=/shared/runs/1/logs",)),
}
