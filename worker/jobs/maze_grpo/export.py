"""LoRA adapters as PEFT writes them: `adapter_model.safetensors`, `adapter_config.json`.

Layers whose rank differs from `r` are in `rank_pattern`, with their alpha in `alpha_pattern`.
Kernels have PEFT's shapes for convolutions: A (rank, in, 3, 3), B (out, rank, 1, 1).
"""

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from worker.jobs.maze_grpo import files
from worker.jobs.maze_grpo.lora import Lora
from worker.jobs.maze_grpo.model import LAYERS, SHAPES
from worker.jobs.maze_grpo.vectors import Arrays, Floats, Pack, pack_arrays

WEIGHTS_FILE, CONFIG_FILE = "adapter_model.safetensors", "adapter_config.json"

BASE_NAME = "skydeck-maze-base"
"""What adapters on the shipped base call it."""

_PREFIX = "base_model.model."

_README = """\
---
base_model: {base}
library_name: peft
---
# Adapter of a maze policy

Step {step} of run `{run}`: LoRA of rank {rank}, alpha {alpha}, on the base `{base}`.
Its weights are the running mean of the training's. It answers a 225 x 225 picture of a
`maze_2d/easy` maze with `<action>WORD</action>`, where WORD is right, up, left, down or stop.
"""


class BadAdapter(ValueError):
    """A folder holds no adapter that fits the model."""


def write_adapter(
    folder: Path, adapter: Pack, lora: Lora, *, base: str, facts: Mapping[str, str], frozen: bool
) -> None:
    """Writes both files into an existing folder.

    `base` names the base model, `facts` go into the tensors' metadata, `frozen` says that the
    adapter is for use and not for further training.
    """
    tensors = {
        f"{_PREFIX}{name}.weight": np.ascontiguousarray(view.reshape(_peft_shape(name, view)))
        for name, view in adapter.views.items()
    }
    files.write_synced(folder / WEIGHTS_FILE, save(tensors, {"format": "pt", **facts}))
    text = json.dumps(_config(lora, base=base, frozen=frozen), indent=2)
    files.write_synced(folder / CONFIG_FILE, text.encode())


def write_export(
    folder: Path, adapter: Pack, lora: Lora, *, base: str, facts: Mapping[str, str]
) -> None:
    """Writes the whole folder of an export, with a README, or nothing."""
    with files.whole_folder(folder) as unfinished:
        write_adapter(unfinished, adapter, lora, base=base, facts=facts, frozen=True)
        readme = _README.format(
            base=base,
            step=facts["step"],
            run=facts["run"],
            rank=lora.rank,
            alpha=_plain(lora.alpha),
        )
        files.write_synced(unfinished / "README.md", readme.encode())


def read_adapter(folder: Path) -> tuple[Lora, Pack, dict[str, str]]:
    """LoRA settings, adapter and facts of a folder. Raises `BadAdapter`."""
    try:
        config = json.loads((folder / CONFIG_FILE).read_bytes())
        data = (folder / WEIGHTS_FILE).read_bytes()
        lora = Lora(int(config["r"]), float(config["lora_alpha"]))
        shapes = lora.shapes
        tensors = {
            name.removeprefix(_PREFIX).removesuffix(".weight"): tensor
            for name, tensor in load(data).items()
        }
        flat = {name: t.reshape(shapes.get(name, t.shape)) for name, t in tensors.items()}
        return lora, pack_arrays(shapes, flat), _metadata(data)
    except OSError as error:
        raise BadAdapter(f"{folder} holds no adapter: {error.strerror}") from error
    except (KeyError, ValueError, TypeError, SafetensorError) as error:
        raise BadAdapter(f"{folder} holds no adapter of this model: {error}") from error


def read_base(path: Path) -> tuple[Arrays, dict[str, str]]:
    """Weights and facts of a base model's file. Raises `OSError`, or `ValueError` if it is none."""
    data = path.read_bytes()
    try:
        weights: dict[str, Floats] = pack_arrays(SHAPES, load(data)).views
    except (SafetensorError, ValueError) as error:
        raise ValueError(f"{path} holds no base model: {error}") from error
    return weights, _metadata(data)


def _peft_shape(name: str, view: Floats) -> tuple[int, ...]:
    layer, _, half = name.partition(".")
    kernel = SHAPES[f"{layer}.weight"]
    if len(kernel) == 2:
        return view.shape
    return (view.shape[0], *kernel[1:]) if half == "lora_A" else (*view.shape, 1, 1)


def _config(lora: Lora, *, base: str, frozen: bool) -> dict[str, object]:
    odd = {layer: rank for layer, rank in lora.ranks.items() if rank != lora.rank}
    return {
        "alpha_pattern": {
            layer: _plain(rank * lora.alpha / lora.rank) for layer, rank in odd.items()
        },
        "base_model_name_or_path": base,
        "bias": "none",
        "fan_in_fan_out": False,
        "inference_mode": frozen,
        "init_lora_weights": True,
        "lora_alpha": _plain(lora.alpha),
        "lora_dropout": 0.0,
        "modules_to_save": None,
        "peft_type": "LORA",
        "r": lora.rank,
        "rank_pattern": odd,
        "target_modules": list(LAYERS),
        "task_type": None,
        "use_dora": False,
        "use_rslora": False,
    }


def _plain(alpha: float) -> int | float:
    """PEFT writes whole alphas without a point."""
    return int(alpha) if alpha.is_integer() else alpha


def _metadata(data: bytes) -> dict[str, str]:
    """The header's metadata. Format: safetensors' first 8 bytes are the header's length."""
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    facts: dict[str, str] = header.get("__metadata__", {})
    return facts
