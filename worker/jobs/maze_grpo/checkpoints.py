"""Checkpoints in SkyRL's layout, with safetensors and JSON where SkyRL has pickles.

`<folder>/global_step_<N>/` appears whole by one rename; `latest_ckpt_global_step.txt` names the
newest and is written last. A run killed at any instruction leaves its newest whole checkpoint.
"""

import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from worker.jobs.maze_grpo import files
from worker.jobs.maze_grpo.export import write_adapter
from worker.jobs.maze_grpo.lora import Lora
from worker.jobs.maze_grpo.optim import Adam
from worker.jobs.maze_grpo.state import TrainState
from worker.jobs.maze_grpo.vectors import Floats, Pack, pack_arrays

LATEST_FILE = "latest_ckpt_global_step.txt"
_NAME = re.compile(r"global_step_(\d{1,18})")
_RANK = "world_size_1_rank_0"
_MODEL, _OPTIMISER = f"policy/model_{_RANK}.safetensors", f"policy/optim_{_RANK}.safetensors"
_EXTRA = f"policy/extra_state_{_RANK}.json"


class BadCheckpoint(ValueError):
    """A checkpoint is missing, damaged, or of another model."""


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """The checkpoints of one run. `base_digest` is of the base model that adapters belong to."""

    folder: Path
    lora: Lora
    base: str
    base_digest: str

    def save(self, state: TrainState, *, config: Mapping[str, object]) -> Path:
        """Writes `state`; the checkpoint's folder. Raises `OSError`."""
        target = self.folder / f"global_step_{state.step}"
        with files.whole_folder(target) as unfinished:
            trainer = {
                "global_step": state.step,
                "config": config,
                "base_sha256": self.base_digest,
                "lora": {"rank": self.lora.rank, "alpha": self.lora.alpha},
            }
            _write_json(unfinished / "trainer_state.json", trainer)
            _write_json(unfinished / "data.json", {"next_seed": state.next_seed})
            _write_policy(unfinished, state)
            adapter = unfinished / "policy" / "lora_adapter"
            facts = {"step": str(state.step)}
            write_adapter(
                adapter, state.adapter, self.lora, base=self.base, facts=facts, frozen=False
            )
        files.write(self.folder / LATEST_FILE, str(state.step).encode())
        return target

    def latest(self) -> Path | None:
        """The newest checkpoint, or None. Raises `BadCheckpoint` if the file names a lost one."""
        marker = self.folder / LATEST_FILE
        if not marker.exists():
            return None
        text = marker.read_text().strip()
        path = self.folder / f"global_step_{text}"
        if path.is_dir():
            return path
        # Only a crash while a checkpoint was being replaced by one of the same step gets here.
        others = self._all()
        if not others:
            raise BadCheckpoint(f"{marker} names step {text}, but {path} is missing")
        return others[-1]

    def load(self, path: Path) -> TrainState:
        """The state in a `global_step_<N>` folder. Raises `BadCheckpoint`."""
        if not _NAME.fullmatch(path.name):
            raise BadCheckpoint(f"{path} is not named global_step_<number>")
        try:
            return self._read(path)
        except OSError as error:
            raise BadCheckpoint(f"cannot read checkpoint {path}: {error}") from error
        except (KeyError, ValueError, TypeError, SafetensorError) as error:
            raise BadCheckpoint(f"checkpoint {path} is not of this model: {error}") from error

    def remove_old(self, keep: int) -> None:
        """Keeps the newest `keep` checkpoints; all of them if negative."""
        if keep > 0:
            for path in self._all()[:-keep]:
                shutil.rmtree(path)

    def _all(self) -> list[Path]:
        """Whole checkpoints, oldest first."""
        found = {
            int(match[1]): path
            for path in self.folder.iterdir()
            if (match := _NAME.fullmatch(path.name)) and path.is_dir()
        }
        return [found[step] for step in sorted(found)]

    def _read(self, path: Path) -> TrainState:
        trainer = _read_json(path / "trainer_state.json")
        if trainer["base_sha256"] != self.base_digest:
            raise ValueError("it belongs to another base model")
        if trainer["lora"] != {"rank": self.lora.rank, "alpha": self.lora.alpha}:
            raise ValueError("it has another LoRA rank or alpha")
        extra = _read_json(path / _EXTRA)
        optimiser = load_file(path / _OPTIMISER)
        rng = np.random.default_rng()
        rng.bit_generator.state = extra["rng"]
        model = load_file(path / _MODEL)
        return TrainState(
            step=int(trainer["global_step"]),
            adapter=self._pack(model, "adapter."),
            average=self._pack(model, "average."),
            adam=Adam(optimiser["first"], optimiser["second"], int(extra["updates"])),
            rng=rng,
            next_seed=int(_read_json(path / "data.json")["next_seed"]),
        )

    def _pack(self, model: Mapping[str, Floats], prefix: str) -> Pack:
        tensors = {
            name.removeprefix(prefix): tensor
            for name, tensor in model.items()
            if name.startswith(prefix)
        }
        return pack_arrays(self.lora.shapes, tensors)


def _write_policy(folder: Path, state: TrainState) -> None:
    tensors = {f"adapter.{name}": view for name, view in state.adapter.views.items()}
    tensors |= {f"average.{name}": view for name, view in state.average.views.items()}
    files.write_synced(folder / _MODEL, save(tensors))
    moments = {"first": state.adam.first, "second": state.adam.second}
    files.write_synced(folder / _OPTIMISER, save(moments))
    _write_json(
        folder / _EXTRA, {"rng": state.rng.bit_generator.state, "updates": state.adam.updates}
    )


def _write_json(path: Path, value: Mapping[str, object]) -> None:
    files.write_synced(path, json.dumps(value, indent=2).encode())


def _read_json(path: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(path.read_bytes())
    return value
