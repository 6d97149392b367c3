"""The recipe of the embedded cluster: GRPO with LoRA on small mazes, on one CPU, in minutes.

Keys and defaults are those of `worker/jobs/maze_grpo/config.py`; a test compares them.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from app.maze.eval_sets import EVAL_SETS
from app.maze.generate import size_of
from app.maze.parse import Dialect
from app.recipes.model import Field, Finding, Group, Recipe

NAME = "embedded-maze-grpo"
_BATCH = "trainer.train_batch_size"
_MINI_BATCH = "trainer.policy_mini_batch_size"
_TURNS = "generator.max_turns"
_EVAL_DATA = "data.val_data"
_STEPS = "trainer.max_training_steps"
_EVERY = "0 or less: never."
_LARGE = 1_000_000
# Training draws mazes of at most 14 moves (worker/jobs/maze_grpo/mazes.py), and the stop is a turn.
_TURNS_NEEDED = 15
# As the trainer's own check (worker/jobs/maze_grpo/evalsets.py): its policy sees 9×9 mazes and
# answers in keywords. Each set brings its own turn limit.
EVAL_SET_NAMES = tuple(
    each.name
    for each in EVAL_SETS.values()
    if each.dialect is Dialect.KEYWORD and size_of(each.env_id) == (9, 9)
)


def _batch_divides(values: Mapping[str, Any]) -> Iterator[Finding]:
    batch, mini = int(values[_BATCH]), int(values[_MINI_BATCH])
    if mini > batch:
        message = f"Mini-batch ({mini}) is larger than the batch ({batch})"
        yield Finding(
            rule="mini_batch_at_most_batch", fields=(_MINI_BATCH, _BATCH), message=message
        )
    elif batch % mini:
        yield Finding(
            rule="batch_divisible",
            fields=(_BATCH, _MINI_BATCH),
            message=f"Batch ({batch}) cannot be divided into mini-batches of {mini}",
            fix=f"take a batch of {batch - batch % mini} or {batch + mini - batch % mini}",
        )


def _intervals(values: Mapping[str, Any]) -> Iterator[Finding]:
    for key, what in (
        ("trainer.eval_interval", "the solve rate is not measured while training"),
        ("trainer.ckpt_interval", "a run that is stopped or lost starts again from its beginning"),
        ("trainer.hf_save_interval", "no adapter is exported before the end"),
    ):
        every = int(values[key])
        if every <= 0 or every > int(values[_STEPS]):
            yield Finding(
                rule="no_interval",
                fields=(key,),
                message=f"{key} is {every}: {what}",
                fix="take 20",
            )


def _keeps_one(values: Mapping[str, Any]) -> Iterator[Finding]:
    if values["trainer.max_ckpts_to_keep"] == 0:
        yield Finding(
            rule="keeps_no_checkpoint",
            fields=("trainer.max_ckpts_to_keep",),
            message="Checkpoints to keep must not be 0",
            fix="take -1 to keep all",
        )


def _is_dumped(values: Mapping[str, Any]) -> Iterator[Finding]:
    if not values["trainer.dump_eval_results"]:
        yield Finding(
            rule="no_dump",
            fields=("trainer.dump_eval_results",),
            message="Without dumped evaluations there is no solve rate, only pass_at_1",
            fix="take true",
        )


def _turns_suffice(values: Mapping[str, Any]) -> Iterator[Finding]:
    turns = int(values[_TURNS])
    if turns < _TURNS_NEEDED:
        yield Finding(
            rule="turns_too_few",
            fields=(_TURNS,),
            message=f"With {turns} turns some mazes of the training cannot be solved",
            fix=f"take {_TURNS_NEEDED} turns",
        )


RECIPE = Recipe(
    name=NAME,
    title="Maze, GRPO + LoRA on this machine",
    version=1,
    summary=(
        "Trains a small vision model to walk 9×9 mazes, on one CPU core in about two minutes. "
        "Needs nothing but the embedded cluster."
    ),
    needs="One CPU core",
    is_builtin_code=True,
    entrypoint=("python", "-m", "worker.jobs.maze_grpo"),
    environment=(("OPENBLAS_NUM_THREADS", "1"),),
    error_rules=(_batch_divides, _keeps_one),
    warning_rules=(_intervals, _is_dumped, _turns_suffice),
    groups=(
        Group(
            "Job",
            (
                Field(
                    key="trainer.seed",
                    label="Seed",
                    default=0,
                    help="Seed of all random choices; the same seed gives the same run.",
                    min=0,
                    max=2**31 - 1,
                ),
                Field(
                    key=_STEPS,
                    label="Training steps",
                    default=280,
                    help="Steps in all; one step is one batch of rollouts and its updates.",
                    min=1,
                    max=_LARGE,
                ),
            ),
        ),
        Group(
            "Model",
            (
                Field(
                    key="trainer.policy.model.lora.rank",
                    label="LoRA rank",
                    default=32,
                    help="Rank of the adapters; layers smaller than it take their own size.",
                    min=1,
                    max=1024,
                ),
                Field(
                    key="trainer.policy.model.lora.alpha",
                    label="LoRA alpha",
                    default=32.0,
                    help="Adapters are scaled by alpha / rank.",
                    above=0,
                    max=_LARGE,
                ),
            ),
        ),
        Group(
            "Environment and rollout",
            (
                Field(
                    key="generator.n_samples_per_prompt",
                    label="Rollouts a maze",
                    default=8,
                    help="Size of a group, over which advantages are normalised.",
                    min=2,
                    max=1024,
                ),
                Field(
                    key=_TURNS,
                    label="Turn limit",
                    default=15,
                    help="Turns an episode of the training may take, the final stop included.",
                    min=1,
                    max=1000,
                ),
                Field(
                    key="generator.sampling_params.temperature",
                    label="Temperature",
                    default=1.0,
                    help="Of rollouts; evaluations are greedy.",
                    above=0,
                    max=100,
                ),
            ),
        ),
        Group(
            "Algorithm",
            (
                Field(
                    key=_BATCH,
                    label="Batch",
                    default=128,
                    help="Fresh mazes a step.",
                    min=1,
                    max=65536,
                ),
                Field(
                    key=_MINI_BATCH,
                    label="Mini-batch",
                    default=8,
                    help="Mazes an update of the adapters.",
                    min=1,
                    max=65536,
                ),
                Field(
                    key="trainer.update_epochs_per_batch",
                    label="Epochs a batch",
                    default=2,
                    help="How often each batch is gone through.",
                    min=1,
                    max=1000,
                ),
                Field(
                    key="trainer.algorithm.loss_reduction",
                    label="Loss reduction",
                    default="token_mean",
                    choices=(
                        "token_mean",
                        "token_mean_legacy",
                        "sequence_mean",
                        "seq_mean_token_sum_norm",
                        "prompt_mean",
                    ),
                    help="How token losses become the loss of a mini-batch.",
                ),
                Field(
                    key="trainer.algorithm.grpo_norm_by_std",
                    label="Divide by the deviation",
                    default=True,
                    help="Whether advantages are divided by their group's deviation.",
                ),
                Field(
                    key="trainer.algorithm.eps_clip_low",
                    label="Clip low",
                    default=0.2,
                    help="Ratios below 1 minus this are clipped.",
                    min=0,
                    max=1,
                ),
                Field(
                    key="trainer.algorithm.eps_clip_high",
                    label="Clip high",
                    default=0.28,
                    help="Ratios above 1 plus this are clipped.",
                    min=0,
                    max=100,
                ),
                Field(
                    key="trainer.algorithm.use_kl_loss",
                    label="KL loss",
                    default=False,
                    help="Whether the divergence from the base is added to the loss.",
                ),
                Field(
                    key="trainer.algorithm.kl_loss_coef",
                    label="KL coefficient",
                    default=0.001,
                    help="Weight of the KL loss.",
                    min=0,
                    max=1000,
                ),
                Field(
                    key="trainer.algorithm.kl_estimator_type",
                    label="KL estimator",
                    default="k3",
                    choices=("k1", "abs", "k2", "k3"),
                    help="How the divergence is estimated from samples.",
                ),
                Field(
                    key="trainer.algorithm.policy_loss_type",
                    label="Policy loss",
                    default="regular",
                    choices=("regular", "dual_clip"),
                    help="Clipped surrogate, or the one that also bounds very bad tokens.",
                ),
                Field(
                    key="trainer.algorithm.clip_ratio_c",
                    label="Dual clip bound",
                    default=3.0,
                    help="Bound of the dual clip loss; the regular loss does not use it.",
                    min=1,
                    max=1000,
                ),
            ),
        ),
        Group(
            "Optimiser",
            (
                Field(
                    key="trainer.policy.optimizer_config.lr",
                    label="Learning rate",
                    default=2e-3,
                    help="Of Adam at the start; it falls linearly to a fraction of itself.",
                    above=0,
                    max=1,
                ),
                Field(
                    key="trainer.policy.optimizer_config.final_lr_fraction",
                    label="Final fraction",
                    default=0.1,
                    help="Learning rate at the last step, as a fraction of the first.",
                    min=0,
                    max=1,
                ),
                Field(
                    key="trainer.policy.optimizer_config.max_grad_norm",
                    label="Largest gradient norm",
                    default=1.0,
                    help="Larger gradients are scaled down to it.",
                    above=0,
                    max=_LARGE,
                ),
                Field(
                    key="trainer.policy.ema_decay",
                    label="Averaging decay",
                    default=0.99,
                    help="The evaluated adapter is a moving average; this is its decay an update.",
                    min=0,
                    max=1,
                ),
            ),
        ),
        Group(
            "Evaluation and checkpoints",
            (
                Field(
                    key=_EVAL_DATA,
                    label="Eval set",
                    default="easy-solvable-15",
                    choices=EVAL_SET_NAMES,
                    help="Mazes and turn limit of the evaluations; no such maze is trained on.",
                ),
                Field(
                    key="trainer.eval_before_train",
                    label="Evaluate first",
                    default=True,
                    help="Whether the base is evaluated before the first step.",
                ),
                Field(
                    key="trainer.eval_interval",
                    label="Evaluate every",
                    default=20,
                    help=f"Steps between evaluations. {_EVERY}",
                    min=-1,
                    max=_LARGE,
                ),
                Field(
                    key="trainer.ckpt_interval",
                    label="Checkpoint every",
                    default=20,
                    help=f"Steps between checkpoints to resume from. {_EVERY}",
                    min=-1,
                    max=_LARGE,
                ),
                Field(
                    key="trainer.hf_save_interval",
                    label="Export every",
                    default=20,
                    help=f"Steps between exports of the adapter. {_EVERY}",
                    min=-1,
                    max=_LARGE,
                ),
                Field(
                    key="trainer.max_ckpts_to_keep",
                    label="Checkpoints to keep",
                    default=-1,
                    help="Older ones are deleted. -1: all are kept.",
                    min=-1,
                    max=_LARGE,
                ),
                Field(
                    key="trainer.dump_eval_results",
                    label="Dump evaluations",
                    default=True,
                    help="Whether each evaluation's episodes are written; the solve rate needs it.",
                ),
            ),
        ),
    ),
)
