"""The training run: what happens in which order, what is written where, and how it stops.

Order of a step as in SkyRL: rollouts, update, checkpoint, export, evaluation, then one block of
metrics. So a checkpoint can exist for a step whose metrics were never printed.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from app.maze.eval_sets import EVAL_SETS
from worker.jobs.maze_grpo import console as places
from worker.jobs.maze_grpo import evaluate, files, metrics
from worker.jobs.maze_grpo.base import BASE_FILE
from worker.jobs.maze_grpo.checkpoints import Checkpoints
from worker.jobs.maze_grpo.config import Config
from worker.jobs.maze_grpo.console import Console
from worker.jobs.maze_grpo.evalsets import eval_set, mazes_of
from worker.jobs.maze_grpo.export import BASE_NAME, read_base, write_export
from worker.jobs.maze_grpo.grpo import score
from worker.jobs.maze_grpo.lora import Lora
from worker.jobs.maze_grpo.mazes import Stream, board, layouts, mazes_in, train_seed
from worker.jobs.maze_grpo.model import Policy
from worker.jobs.maze_grpo.optim import linear_decay
from worker.jobs.maze_grpo.rollout import LogProbs, roll
from worker.jobs.maze_grpo.state import TrainState
from worker.jobs.maze_grpo.update import Learner, Rollouts, entropy

_DUMPS = "dumped_evals"


class Stopped(Exception):
    """The run was asked to stop, and has saved its last whole step."""


class Trainer:
    """One run. Make it, then `run()` it once."""

    def __init__(
        self, config: Config, console: Console, *, stop_asked: Callable[[], bool] = lambda: False
    ) -> None:
        """Reads the base model and the newest checkpoint, if the settings say so.

        `stop_asked` is polled often. Raises `UnusableEvalSet`, `BadCheckpoint`, `OSError`, and
        `ValueError` if the base file holds no base model.
        """
        self._config, self._console, self._stop_asked = config, console, stop_asked
        self._evaluator = evaluate.Evaluator(eval_set(config.val_data))
        base_path = Path(config.model_path) if config.model_path else BASE_FILE
        self._base, _ = read_base(base_path)
        self._base_name = config.model_path or BASE_NAME
        self._lora = Lora(config.lora_rank, config.lora_alpha)
        self._learner = Learner(config, lora=self._lora, base=self._base)
        self._prepare_folders()
        digest = hashlib.sha256(base_path.read_bytes()).hexdigest()
        self._checkpoints = Checkpoints(
            config.checkpoints_folder, self._lora, self._base_name, digest
        )
        self._timings: metrics.Values = {}
        console.info(f"Total steps: {config.max_training_steps}", places.LOADER)
        console.info(f"Validation set size: {len(self._evaluator.eval_set.seeds)}", places.LOADER)
        self.state = self._start()
        self._saved_step = self.state.step
        self._stream = Stream(self.state.next_seed, excluded=_evaluation_layouts())

    def run(self) -> None:
        """Trains to the last step. Raises `Stopped`, or `OSError` where it cannot write."""
        if self._config.eval_before_train:
            values = self._evaluate()
            self._console.metrics(self.state.step, {**values, **self._take_timings("eval")})
        while self.state.step < self._config.max_training_steps:
            try:
                self._step()
                self._check_stop()
            except Stopped:
                self._save_checkpoint()
                raise
        self._console.info("Training done!", places.DONE)

    def _prepare_folders(self) -> None:
        """Makes them, so that a path that cannot be written fails at once, and tidies them."""
        checkpoints, exports = self._config.checkpoints_folder, self._config.export_folder
        for folder in (checkpoints, exports):
            folder.mkdir(parents=True, exist_ok=True)
        for folder in (checkpoints, exports / _DUMPS, *exports.glob("global_step_*")):
            files.remove_leftovers(folder)

    def _start(self) -> TrainState:
        """The state to go on from, by `trainer.resume_mode`."""
        config, console = self._config, self._console
        with console.timer("load_checkpoints", {}):
            path = None
            if config.resume_mode == "latest":
                path = self._checkpoints.latest()
            elif config.resume_mode == "from_path":
                path = Path(config.resume_path)
            if path is None:
                console.info("No checkpoint found, starting training from scratch", places.LOAD)
                first = train_seed(config.seed)
                return TrainState.fresh(self._lora, seed=config.seed, next_seed=first)
            console.info(f"Loading checkpoint from: {path}", places.LOAD)
            state = self._checkpoints.load(path)
            console.info(f"Resuming from global_step: {state.step}", places.LOAD)
            return state

    def _step(self) -> None:
        step = self.state.step + 1
        console, timings = self._console, self._timings
        with console.timer("step", timings):
            values, status = self._train(step)
            if self._is_due(step, self._config.ckpt_interval):
                with console.timer("save_checkpoints", timings):
                    self._save_checkpoint()
            if self._is_due(step, self._config.hf_save_interval):
                with console.timer("save_hf_model", timings):
                    self._export()
        console.info(str(status), places.TRAIN)
        if self._is_due(step, self._config.eval_interval):
            values |= self._evaluate()
        values |= metrics.prefixed("policy", status)
        console.metrics(step, {**values, **self._take_timings()})

    def _train(self, step: int) -> tuple[metrics.Values, metrics.Values]:
        """Rollouts and update on a copy of the state, which takes its place at the end.

        The step's metrics, and those of the policy.
        """
        state = self.state.copy(self._lora)
        state.step = step
        with self._console.timer("generate", self._timings):
            rollouts = self._generate(state)
        values = self._describe(rollouts)
        lr = linear_decay(
            self._config.lr,
            step=step,
            steps=self._config.max_training_steps,
            final=self._config.final_lr_fraction,
        )
        with self._console.timer("policy_train", self._timings):
            learned = self._learner.update(state, rollouts, lr=lr, check=self._check_stop)
        status: metrics.Values = {
            **learned,
            "policy_entropy": entropy(rollouts),
            "policy_lr": lr,
            "response_length": float(metrics.response_tokens(rollouts.episodes.turns).max()),
        }
        self.state = state
        return {**values, "trainer/epoch": 0, "trainer/global_step": step}, status

    def _generate(self, state: TrainState) -> Rollouts:
        config = self._config
        mazes = board(mazes_in(self._stream.take(config.train_batch_size)))
        state.next_seed = self._stream.next_seed
        log_probs = LogProbs(self._learner.policy(state), mazes)
        episodes = roll(
            log_probs,
            mazes,
            samples=config.n_samples_per_prompt,
            turns=config.max_turns,
            rng=state.rng,
            check=self._check_stop,
        )
        return self._learner.judge(mazes, episodes, log_probs)

    def _describe(self, rollouts: Rollouts) -> metrics.Values:
        """Metrics of the rollouts; logs the scores in full precision."""
        episodes, samples = rollouts.episodes, self._config.n_samples_per_prompt
        scores = score(episodes.rewards.tolist(), episodes.mazes.tolist())
        rewards: metrics.Values = {
            f"reward/avg_pass_at_{samples}": scores.pass_at_n,
            "reward/avg_raw_reward": scores.avg_score,
            "reward/mean_positive_reward": scores.mean_positive_reward,
        }
        line = ", ".join(f"{key}: {value}" for key, value in rewards.items())
        self._console.info(line, places.REWARDS)
        groups = episodes.rewards.reshape(-1, samples)
        token_advantages = np.repeat(rollouts.advantages, episodes.turns)
        return {
            **rewards,
            "reward/num_zero_variance_filtered": int((groups.min(1) == groups.max(1)).sum()),
            **metrics.generation(episodes.turns, episodes.rewards),
            "generate/batch_num_seq": len(episodes.turns),
            "environment/avg_parse_failures": 0.0,
            "loss/avg_final_rewards": scores.avg_score,
            "loss/avg_raw_advantages": float(token_advantages.mean()),
            "loss/avg_raw_advantages_abs": float(np.abs(token_advantages).mean()),
        }

    def _evaluate(self) -> metrics.Values:
        """Plays the evaluation set with the averaged adapter, and dumps the episodes."""
        console, timings = self._console, self._timings
        with console.timer("eval", timings):
            with console.timer("eval_generate", timings):
                weights = self._lora.merge(self._base, self.state.average)
                evaluation = self._evaluator.evaluate(Policy(weights))
            if self._config.dump_eval_results:
                name = f"global_step_{self.state.step}_evals"
                folder = self._config.export_folder / _DUMPS / name
                aggregate = self._evaluator.dump(evaluation, folder)
                rows = folder / f"{evaluate.DATA_SOURCE}.jsonl"
                console.info(f"Dumped eval data for {evaluate.DATA_SOURCE} to {rows}", places.DUMP)
                console.info(f"Dumped aggregated eval metrics to {aggregate}", places.DUMP)
        return evaluation.values

    def _save_checkpoint(self) -> None:
        """Saves the state, unless its step is the one that was saved or loaded last."""
        if self.state.step == self._saved_step:
            return
        path = self._checkpoints.save(self.state, config=self._config.as_keys())
        self._saved_step = self.state.step
        message = f"Successfully saved checkpoint for global_step_{self.state.step} to: {path}"
        self._console.info(message, places.SAVE)
        self._checkpoints.remove_old(self._config.max_ckpts_to_keep)

    def _export(self) -> None:
        facts = {
            "run": self._config.run_name,
            "step": str(self.state.step),
            "train_first_seed": str(train_seed(self._config.seed)),
            "train_next_seed": str(self.state.next_seed),
        }
        folder = self._config.export_folder / f"global_step_{self.state.step}" / "policy"
        write_export(folder, self.state.average, self._lora, base=self._base_name, facts=facts)
        self._console.info("Successfully saved model weights.", places.EXPORT)

    def _is_due(self, step: int, interval: int) -> bool:
        last = self._config.max_training_steps
        return interval > 0 and (step % interval == 0 or step == last)

    def _check_stop(self) -> None:
        if self._stop_asked():
            raise Stopped

    def _take_timings(self, keep: str = "") -> metrics.Values:
        """The seconds measured since the last block; those of the phase `keep` stay for the next.

        SkyRL shows the first evaluation's own time in the block of the first step.
        """
        kept = {k: v for k, v in self._timings.items() if k == f"timing/{keep}"}
        taken = {k: v for k, v in self._timings.items() if k not in kept}
        self._timings.clear()
        self._timings.update(kept)
        return taken


def _evaluation_layouts() -> frozenset[bytes]:
    """All built-in evaluation sets' mazes: whatever is evaluated later, none was trained on."""
    return layouts(maze for chosen in EVAL_SETS.values() for maze in mazes_of(chosen))
