"""Looks at a LoRA export as PEFT writes it: its two files, and whether they belong together.

Source of names and fields: peft 0.18.1, `PeftModel.save_pretrained` and `LoraConfig`.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, BinaryIO

from app.checkpoints.weights import BadWeights, Shapes, read_shapes
from app.storage.inside import open_file

WEIGHTS, CONFIG = "adapter_model.safetensors", "adapter_config.json"
MAX_WEIGHTS_BYTES = 16 * 2**30
MAX_CONFIG_BYTES = 2**20
MAX_RANK = 4096
_EXTRAS = ("use_dora", "use_rslora", "fan_in_fan_out", "modules_to_save", "lora_bias")
_HALVES = {".lora_A.": 0, ".lora_B.": 1}
"""Part of a tensor's name, and the dimension in which it has the rank."""


class ExportFault(StrEnum):
    """What is wrong with an export; `docs/adapters.md` says what to do about each."""

    FILE_MISSING = "file_missing"
    WEIGHTS_BROKEN = "weights_broken"
    CONFIG_BROKEN = "config_broken"
    RANK_DIFFERS = "rank_differs"
    TOO_LARGE = "too_large"


class BadExport(Exception):
    """A folder that holds no whole adapter: what is wrong, and a sentence about it."""

    def __init__(self, fault: ExportFault, message: str) -> None:
        super().__init__(message)
        self.fault, self.message = fault, message


@dataclass(frozen=True, slots=True)
class Export:
    """What the two files of an adapter say. `rank` is the largest of any layer."""

    base: str
    rank: int
    tensor_count: int
    weights_bytes: int
    config_bytes: int
    extras: tuple[str, ...] = ()
    """What it needs beside plain LoRA, by PEFT's names; not every server can add that."""


def look_at(folder: int) -> Export:
    """The adapter in an open folder. Raises `BadExport`, `OSError` where it cannot be read."""
    with _open(folder, CONFIG) as file:
        config_bytes = _size(file, CONFIG, MAX_CONFIG_BYTES)
        config = _config(file.read(MAX_CONFIG_BYTES))
    with _open(folder, WEIGHTS) as file:
        weights_bytes = _size(file, WEIGHTS, MAX_WEIGHTS_BYTES)
        try:
            shapes = read_shapes(file, size_bytes=weights_bytes)
        except BadWeights as error:
            message = f"{WEIGHTS} is not whole: {error}"
            raise BadExport(ExportFault.WEIGHTS_BROKEN, message) from None
    return Export(
        base=_plain(config.get("base_model_name_or_path"))[:500],
        rank=_rank(config, shapes),
        tensor_count=len(shapes),
        weights_bytes=weights_bytes,
        config_bytes=config_bytes,
        extras=tuple(name for name in _EXTRAS if config.get(name)) + _bias(config),
    )


def _open(folder: int, name: str) -> BinaryIO:
    try:
        return open_file(folder, name)
    except FileNotFoundError:
        raise BadExport(ExportFault.FILE_MISSING, f"{name} is missing") from None
    except OSError as error:
        message = f"{name} is a link or cannot be read: {error.strerror or error}"
        raise BadExport(ExportFault.FILE_MISSING, message) from None


def _size(file: BinaryIO, name: str, most: int) -> int:
    size = file.seek(0, 2)
    file.seek(0)
    if size > most:
        message = f"{name} has {size:,} bytes, at most {most:,} are taken"
        raise BadExport(ExportFault.TOO_LARGE, message)
    return size


def _config(data: bytes) -> Mapping[str, Any]:
    try:
        config = json.loads(data)
    except (ValueError, RecursionError):
        raise _broken("is no JSON") from None
    if not isinstance(config, dict) or config.get("peft_type") != "LORA":
        raise _broken("does not describe a LoRA adapter")
    ranks = [config.get("r"), *_ranks_by_layer(config).values()]
    if not all(type(rank) is int and 0 < rank <= MAX_RANK for rank in ranks):
        raise _broken(f"names no rank from 1 to {MAX_RANK:,}")
    return config


def _rank(config: Mapping[str, Any], shapes: Shapes) -> int:
    """The largest rank, after a look at whether the tensors have those that the config names."""
    by_layer = _ranks_by_layer(config)
    places = {key: place for place, key in enumerate(by_layer)}
    found: list[int] = [config["r"]]
    for name, shape in shapes.items():
        half = next((half for half in _HALVES if half in name), None)
        if half is None:
            continue
        # The first pattern that the layer ends with; not all of them are tried: there may be many.
        keys = [key for key in _endings(name.partition(half)[0]) if key in places]
        wanted = by_layer[min(keys, key=places.__getitem__)] if keys else config["r"]
        place = _HALVES[half]
        if len(shape) <= place or shape[place] != wanted:
            message = f"{name[:80]!r} has shape {shape}, {CONFIG} names rank {wanted} for it"
            raise BadExport(ExportFault.RANK_DIFFERS, message)
        found.append(wanted)
    if len(found) == 1:
        raise BadExport(ExportFault.WEIGHTS_BROKEN, f"{WEIGHTS} holds no LoRA tensor")
    # A server judges by the config's own rank, too, even where no layer has it.
    return max(found)


def _endings(layer: str) -> Iterator[str]:
    """`a.b.c`, `b.c`, `c`."""
    while layer:
        yield layer
        layer = layer.partition(".")[2]


def _bias(config: Mapping[str, Any]) -> tuple[str, ...]:
    return ("bias",) if config.get("bias", "none") != "none" else ()


def _ranks_by_layer(config: Mapping[str, Any]) -> dict[str, Any]:
    found = config.get("rank_pattern") or {}
    if not isinstance(found, dict):
        raise _broken("has a rank_pattern that is no object")
    return found


def _plain(value: Any) -> str:
    """As text that every database holds."""
    text = str(value or "").encode(errors="replace").decode()
    return text.replace("\0", "\ufffd")


def _broken(what: str) -> BadExport:
    return BadExport(ExportFault.CONFIG_BROKEN, f"{CONFIG} {what}")
