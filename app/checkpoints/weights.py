"""Reads the header of a safetensors file, of which nothing else is looked at.

Format: 8 bytes, little-endian, say how long the header is; the header is JSON, `{name: {dtype,
shape, data_offsets: [begin, end]}}` and perhaps `__metadata__`; the tensors' bytes follow without
gaps. Source: https://github.com/huggingface/safetensors#format, `SafeTensors::read_metadata`.
Our own, since it must tell what is wrong without reading a file of gigabytes into memory.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, BinaryIO

MAX_HEADER_BYTES = 20_000_000
MAX_NAME_CHARS = 1_000
_LENGTH_BYTES = 8
_MAX_DIMENSIONS = 8
_BITS = {
    **dict.fromkeys(("F64", "I64", "U64", "C64"), 64),
    **dict.fromkeys(("F32", "I32", "U32"), 32),
    **dict.fromkeys(("F16", "BF16", "I16", "U16"), 16),
    **dict.fromkeys(("F8_E4M3", "F8_E5M2", "F8_E8M0", "I8", "U8", "BOOL"), 8),
}

Shapes = dict[str, tuple[int, ...]]


class BadWeights(Exception):
    """The file is no whole safetensors file; the message says in what way."""


@dataclass(frozen=True, slots=True)
class _Extent:
    begin: int
    end: int


def read_shapes(file: BinaryIO, *, size_bytes: int) -> Shapes:
    """The shape of each tensor by its name. Raises `BadWeights` if the file is not whole."""
    head = file.read(_LENGTH_BYTES)
    length = int.from_bytes(head, "little")
    data_bytes = size_bytes - _LENGTH_BYTES - length
    if len(head) < _LENGTH_BYTES or length > MAX_HEADER_BYTES or data_bytes < 0:
        raise BadWeights("it does not begin with a safetensors header")
    entries = _entries(file.read(length))
    shapes: Shapes = {}
    extents = []
    for name, entry in entries.items():
        shapes[name], extent = _tensor(name, entry)
        extents.append(extent)
    _require_whole(extents, data_bytes)
    return shapes


def _entries(header: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(header)
    except (ValueError, RecursionError):
        raise BadWeights("its header is no JSON") from None
    if not isinstance(found, dict):
        raise BadWeights("its header is no list of tensors")
    found.pop("__metadata__", None)
    if not found:
        raise BadWeights("it holds no tensor")
    return found


def _tensor(name: str, entry: Any) -> tuple[tuple[int, ...], _Extent]:
    """Shape and place of a tensor, which agree."""
    if len(name) > MAX_NAME_CHARS:
        raise BadWeights(f"the name of {name[:80]!r} has over {MAX_NAME_CHARS:,} characters")
    try:
        shape = tuple(_whole(each) for each in entry["shape"])
        begin, end = (_whole(each) for each in entry["data_offsets"])
        bits = _BITS[entry["dtype"]]
    except (KeyError, TypeError, ValueError):
        raise BadWeights(f"its header does not describe {name[:80]!r} as a tensor") from None
    if len(shape) > _MAX_DIMENSIONS or (end - begin) * 8 != prod(shape) * bits:
        raise BadWeights(f"the length of {name[:80]!r} does not fit its shape")
    return shape, _Extent(begin, end)


def _whole(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 2**60:
        raise ValueError(value)
    return value


def _require_whole(extents: list[_Extent], data_bytes: int) -> None:
    place = 0
    for extent in sorted(extents, key=lambda each: (each.begin, each.end)):
        if extent.begin != place:
            raise BadWeights("its tensors do not follow one another")
        place = extent.end
    if place != data_bytes:
        raise BadWeights(f"its tensors take {place:,} bytes, the file has {data_bytes:,} for them")
