"""`python -m worker.jobs.maze_grpo key=value …`: a training run.

Exit codes: 0 done, 1 failed, 2 wrong settings, 143 stopped by SIGTERM after saving.
"""

import contextlib
import os
import signal
import sys
from pathlib import Path
from types import FrameType

from worker.jobs.maze_grpo.checkpoints import BadCheckpoint
from worker.jobs.maze_grpo.config import ConfigError, parse
from worker.jobs.maze_grpo.console import Console
from worker.jobs.maze_grpo.evalsets import UnusableEvalSet
from worker.jobs.maze_grpo.train import Stopped, Trainer

_FAILED, _MISUSED, _TERMINATED = 1, 2, 128 + signal.SIGTERM
_RUN_DIR = "SKYDECK_RUN_DIR"


def main(arguments: list[str]) -> int:
    """Runs the training; returns the exit code."""
    stop: list[int] = []

    def on_term(number: int, _frame: FrameType | None) -> None:
        stop.append(number)

    signal.signal(signal.SIGTERM, on_term)
    console = Console(sys.stdout)
    try:
        config = parse(arguments, run_folder=Path(os.environ.get(_RUN_DIR, ".")))
        trainer = Trainer(config, console, stop_asked=lambda: bool(stop))
    except (ConfigError, UnusableEvalSet) as error:
        sys.stderr.write(f"maze_grpo: {error}\n")
        return _MISUSED
    except (OSError, BadCheckpoint, ValueError) as error:
        console.error(f"Setup failed before tracker was initialized:\n{error}")
        return _FAILED
    return _run(trainer, console)


def _run(trainer: Trainer, console: Console) -> int:
    try:
        return _train(trainer, console)
    except OSError as error:
        step, kind = trainer.state.step, type(error).__name__
        # What could not be written may be the log itself.
        with contextlib.suppress(OSError):
            console.error(f"Training failed at step {step} with {kind}:\n{error}")
        return _FAILED


def _train(trainer: Trainer, console: Console) -> int:
    try:
        trainer.run()
    except Stopped:
        console.info(f"Stopped by SIGTERM after step {trainer.state.step}")
        return _TERMINATED
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
