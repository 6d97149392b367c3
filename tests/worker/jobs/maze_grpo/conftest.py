"""Small runs, and the console they write to."""

import io
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from app.logs.parsers.skyrl import ParseOutcome, SkyRLConsoleParser
from worker.jobs.maze_grpo.config import parse
from worker.jobs.maze_grpo.console import Console
from worker.jobs.maze_grpo.train import Trainer

SMALL = (
    "trainer.train_batch_size=6",
    "trainer.policy_mini_batch_size=2",
    "trainer.max_training_steps=6",
    "trainer.eval_interval=-1",
    "trainer.eval_before_train=false",
    "trainer.ckpt_interval=3",
    "trainer.hf_save_interval=-1",
    "trainer.policy.model.lora.rank=4",
)


@dataclass(slots=True)
class SmallRun:
    """A trainer in a folder of its own, and what it has printed."""

    folder: Path
    trainer: Trainer
    output: io.StringIO
    asked: list[bool] = field(default_factory=list)

    def parsed(self) -> ParseOutcome:
        return SkyRLConsoleParser().feed(self.output.getvalue().encode())


MakeRun = Callable[..., SmallRun]


@pytest.fixture(autouse=True)
def unsynced(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test cuts the power, and waiting for a busy disk takes most of a small run's time."""
    monkeypatch.setattr("os.fsync", lambda _handle: None)


@pytest.fixture
def small_run(tmp_path: Path) -> MakeRun:
    """`small_run("key=value", …, folder=…)`: the small settings with these on top."""

    def make(*arguments: str, folder: Path = tmp_path) -> SmallRun:
        output, asked = io.StringIO(), list[bool]()
        config = parse([*SMALL, *arguments], run_folder=folder)
        trainer = Trainer(config, Console(output), stop_asked=lambda: bool(asked))
        return SmallRun(folder, trainer, output, asked)

    return make
