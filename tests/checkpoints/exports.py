"""Adapters as files, small and whole, or broken in one way."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

from app.checkpoints.exports import CONFIG, WEIGHTS

CONFIG_VALUES: dict[str, Any] = {
    "peft_type": "LORA",
    "base_model_name_or_path": "skydeck-maze-base",
    "r": 4,
    "lora_alpha": 4,
    "bias": "none",
    "rank_pattern": {"head": 2},
    "modules_to_save": None,
}


def weights(rank: int = 4, *, width: int = 8, fill: float = 0.5) -> bytes:
    """Two layers, `head` with rank 2 and `trunk` with `rank`."""
    prefix = "base_model.model"
    tensors = {
        f"{prefix}.{layer}.lora_{half}.weight": np.full(shape, fill, np.float32)
        for layer, each in (("head", 2), ("trunk", rank))
        for half, shape in (("A", (each, width)), ("B", (width, each)))
    }
    return save(tensors, {"format": "pt"})


def write_adapter(
    folder: Path, *, data: bytes | None = None, config: dict[str, Any] | None = None
) -> Path:
    """Writes both files; returns the folder, which is made."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / WEIGHTS).write_bytes(weights() if data is None else data)
    (folder / CONFIG).write_text(json.dumps(CONFIG_VALUES | (config or {})))
    return folder


def write_export(run_folder: Path, step: int, **given: Any) -> Path:
    """As the embedded trainer does, at a step."""
    return write_adapter(run_folder / "exports" / f"global_step_{step}" / "policy", **given)


def write_state(run_folder: Path, step: int, *, is_pickled: bool = False) -> Path:
    """A checkpoint's folder, with the marker of the newest."""
    folder = run_folder / "ckpts" / f"global_step_{step}"
    (folder / "policy").mkdir(parents=True, exist_ok=True)
    name = "trainer_state.pt" if is_pickled else "trainer_state.json"
    (folder / name).write_bytes(b"{}")
    (folder / "policy" / "model_world_size_1_rank_0.safetensors").write_bytes(b"x" * 100)
    (run_folder / "ckpts" / "latest_ckpt_global_step.txt").write_text(str(step))
    return folder
