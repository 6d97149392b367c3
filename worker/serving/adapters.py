"""Adapters from folders that anybody may have put there: looked at before they are believed."""

import json
import math
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from worker.jobs.maze_grpo.export import (
    BASE_NAME,
    CONFIG_FILE,
    WEIGHTS_FILE,
    BadAdapter,
    read_adapter,
)
from worker.jobs.maze_grpo.vectors import Arrays, Floats
from worker.serving.limits import MAX_ADAPTER_BYTES, MAX_CONFIG_BYTES

Stamp = tuple[tuple[int, int, int], ...]
_MOST_BYTES = {CONFIG_FILE: MAX_CONFIG_BYTES, WEIGHTS_FILE: MAX_ADAPTER_BYTES}
# What changes the meaning of an adapter's numbers, or adds some that would be ignored.
_UNSUPPORTED = ("use_dora", "use_rslora", "fan_in_fan_out", "modules_to_save", "lora_bias")
_MAX_RANK = 1024


class Unusable(Exception):
    """The folder holds no adapter that can be added to the base; says why, without its path."""


def stamp(folder: Path) -> Stamp | None:
    """Changes whenever one of the two files does; None if there is no adapter."""
    try:
        found = [(folder / name).stat() for name in _MOST_BYTES]
    except (OSError, ValueError):
        return None
    return tuple((each.st_ino, each.st_mtime_ns, each.st_size) for each in found)


def merged(folder: Path, base: Arrays) -> dict[str, Floats]:
    """The base's weights with the adapter of `folder` added. Raises `Unusable`."""
    try:
        _check_files(folder)
        config = json.loads((folder / CONFIG_FILE).read_bytes())
        _check_config(config)
        lora, adapter, _ = read_adapter(folder)
        if not np.isfinite(adapter.vector).all():
            raise Unusable("its weights hold numbers that are not finite")
        with np.errstate(all="ignore"):
            weights = lora.merge(base, adapter)
        if not all(np.isfinite(each).all() for each in weights.values()):
            raise Unusable("added to the base it gives numbers that are not finite")
        return weights
    except BadAdapter as error:
        raise Unusable(str(error).removeprefix(f"{folder} holds ")) from None
    except OSError as error:
        raise Unusable(f"it cannot be read: {error.strerror}") from None
    except (ValueError, ArithmeticError, RecursionError):
        raise Unusable(f"its {CONFIG_FILE} is damaged") from None


def _check_files(folder: Path) -> None:
    for name, most in _MOST_BYTES.items():
        found = (folder / name).stat()
        if not stat.S_ISREG(found.st_mode):
            raise Unusable(f"its {name} is no file")
        if found.st_size > most:
            raise Unusable(f"its {name} has {found.st_size} bytes, more than {most}")


def _check_config(config: Any) -> None:
    if not isinstance(config, Mapping) or config.get("peft_type") != "LORA":
        raise Unusable(f"its {CONFIG_FILE} describes no LoRA adapter")
    base = config.get("base_model_name_or_path")
    if base != BASE_NAME:
        raise Unusable(f"it belongs to the base model {str(base)[:100]!r}, not to {BASE_NAME!r}")
    rank, alpha = config.get("r"), config.get("lora_alpha")
    if not isinstance(rank, int) or not 1 <= rank <= _MAX_RANK:
        raise Unusable(f"LoRA rank {str(rank)[:20]} is not from 1 to {_MAX_RANK}")
    if not isinstance(alpha, int | float) or not math.isfinite(alpha):
        raise Unusable(f"lora_alpha {str(alpha)[:20]} is no number")
    odd = [name for name in _UNSUPPORTED if config.get(name)]
    if odd or config.get("bias", "none") != "none":
        raise Unusable(f"it uses {', '.join(odd or ['bias'])}, which this endpoint cannot add")
