"""Folders with adapters, good and bad, as a promotion or a person may leave them."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from worker.jobs.maze_grpo.export import BASE_NAME, CONFIG_FILE, WEIGHTS_FILE, write_export
from worker.jobs.maze_grpo.lora import Lora


def write(folder: Path, *, seed: int = 0, rank: int = 8, base: str = BASE_NAME) -> Path:
    """An adapter that changes the answers: both halves are random, and not small."""
    lora = Lora(rank, float(rank))
    rng = np.random.default_rng(seed)
    adapter = lora.new_adapter(rng)
    adapter.vector[...] = rng.standard_normal(adapter.vector.shape) * 0.08
    write_export(folder, adapter, lora, base=base, facts={"run": "r", "step": "1"})
    return folder


def configure(folder: Path, **changes: Any) -> None:
    """Changes keys of `adapter_config.json`."""
    file = folder / CONFIG_FILE
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


def cut(folder: Path) -> None:
    """As an interrupted copy leaves it."""
    file = folder / WEIGHTS_FILE
    file.write_bytes(file.read_bytes()[:-1000])


def touch(folder: Path, seconds: int) -> None:
    """Moves the files' time, for file systems whose clock is coarse."""
    for name in (CONFIG_FILE, WEIGHTS_FILE):
        os.utime(folder / name, (seconds, seconds))
