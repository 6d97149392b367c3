"""The header of a safetensors file: whole files are read, all others refused with the reason."""

import io
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors import SafetensorError
from safetensors.numpy import load, save

from app.checkpoints.weights import MAX_HEADER_BYTES, BadWeights, read_shapes
from tests.checkpoints.exports import weights


def read(data: bytes) -> dict[str, tuple[int, ...]]:
    return read_shapes(io.BytesIO(data), size_bytes=len(data))


def made(header: Any, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def entry(**changes: Any) -> dict[str, Any]:
    return {"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]} | changes}


def test_a_whole_file_tells_its_shapes() -> None:
    tensors: dict[str, Any] = {"a": np.zeros((2, 3), np.float32), "b": np.zeros((0, 4), np.int64)}
    assert read(save(tensors, {"format": "pt"})) == {"a": (2, 3), "b": (0, 4)}
    assert read(weights()) == {name: value.shape for name, value in load(weights()).items()}


@pytest.mark.parametrize("left", range(0, len(weights()), 7))
def test_a_file_that_was_cut_anywhere_is_refused(left: int) -> None:
    with pytest.raises(BadWeights):
        read(weights()[:left])


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "does not begin"),
        ((MAX_HEADER_BYTES + 1).to_bytes(8, "little") + b"x" * 99, "does not begin"),
        ((2**63).to_bytes(8, "little") + b"x" * 99, "does not begin"),
        (made(b"{" * 5_000), "no JSON"),
        (made(b"[1]"), "no list"),
        (made({}), "no tensor"),
        (made({"__metadata__": {}}), "no tensor"),
        (made({"a": 1}), "does not describe"),
        (made(entry(dtype="F31"), b"x" * 8), "does not describe"),
        (made(entry(dtype=["F32"]), b"x" * 8), "does not describe"),
        (made(entry(shape=[-2]), b"x" * 8), "does not describe"),
        (made(entry(shape=[True, 2]), b"x" * 8), "does not describe"),
        (made(entry(shape=[3]), b"x" * 8), "does not fit"),
        (made(entry(shape=[1] * 9), b"x" * 8), "does not fit"),
        (made(entry(data_offsets=[4, 12]), b"x" * 12), "do not follow"),
        (made(entry(), b"x" * 9), "9 for them"),
        (made(entry() | {"b": entry()["a"]}, b"x" * 16), "do not follow"),
    ],
)
def test_a_broken_header_is_refused_with_the_reason(data: bytes, reason: str) -> None:
    with pytest.raises(BadWeights, match=reason):
        read(data)


@given(st.integers(0, len(weights()) - 1), st.integers(1, 255))
def test_whatever_is_taken_the_library_takes_too(place: int, change: int) -> None:
    data = bytearray(weights())
    data[place] ^= change
    try:
        shapes = read(bytes(data))
    except BadWeights:
        return
    try:
        tensors = load(bytes(data))
    except SafetensorError as error:
        # It also holds metadata to its type, which tells nothing of the tensors.
        reason = str(error)
    else:
        assert {name: value.shape for name, value in tensors.items()} == shapes
        return
    assert "metadata" in reason or "invalid JSON" in reason
