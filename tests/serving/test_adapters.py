"""Adapters of all sorts in the folder: the good ones answer, the others say why not."""

import pickle
import shutil
from collections.abc import Callable
from pathlib import Path

import httpx
import numpy as np
import pytest
from safetensors.numpy import load, save

from tests.serving import adapters
from tests.serving.conftest import Messages, ask, message_of, says
from worker.jobs.maze_grpo.base import BASE_FILE
from worker.jobs.maze_grpo.export import CONFIG_FILE, WEIGHTS_FILE, read_base
from worker.serving.errors import ServingError
from worker.serving.models import Models


def _fill(folder: Path, value: float) -> None:
    tensors = load((folder / WEIGHTS_FILE).read_bytes())
    for half in "AB":
        tensors[f"base_model.model.head.lora_{half}.weight"][:] = value
    (folder / WEIGHTS_FILE).write_bytes(save(tensors))


def _write(name: str, data: bytes) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes(data)


def _set(**changes: object) -> Callable[[Path], object]:
    return lambda folder: adapters.configure(folder, **changes)


BROKEN: dict[str, tuple[Callable[[Path], object], str]] = {
    "cut": (adapters.cut, "no adapter of this model"),
    "empty": (_write(WEIGHTS_FILE, b""), "no adapter of this model"),
    "foreign tensors": (
        _write(WEIGHTS_FILE, save({"x": np.zeros(3, np.float32)})),
        "missing or unknown tensors",
    ),
    "huge": (_write(WEIGHTS_FILE, bytes(5_000_000)), "5000000 bytes, more than"),
    "not finite": (lambda folder: _fill(folder, float("nan")), "not finite"),
    "too large together": (lambda folder: _fill(folder, 1e30), "not finite"),
    "a header of 2^63 bytes": (
        _write(WEIGHTS_FILE, b"\0" * 7 + b"\x80{}"),
        "no adapter of this model",
    ),
    "pickle": (_write(WEIGHTS_FILE, pickle.dumps({"r": 8})), "no adapter of this model"),
    "other rank": (_set(r=4), "no adapter of this model"),
    "no rank": (_set(r=0), "LoRA rank 0"),
    "rank of words": (_set(r="many"), "LoRA rank many"),
    "alpha of 400 digits": (_set(lora_alpha=10**400), "is damaged"),
    "alpha too large": (_set(lora_alpha=1e300), "not finite"),
    "no alpha": (_set(lora_alpha=None), "lora_alpha None"),
    "other base": (_set(base_model_name_or_path="Qwen/Qwen3-VL"), "'Qwen/Qwen3-VL', not to"),
    "no LoRA": (_set(peft_type="IA3"), "describes no LoRA adapter"),
    "other scale": (_set(use_rslora=True), "use_rslora, which this endpoint cannot add"),
    "more layers": (_set(modules_to_save=["head"]), "modules_to_save"),
    "biases": (_set(bias="all"), "bias, which"),
    "config is a list": (_write(CONFIG_FILE, b"[]"), "describes no LoRA adapter"),
    "config is cut": (_write(CONFIG_FILE, b'{"r": '), "adapter_config.json is damaged"),
    "config is deep": (_write(CONFIG_FILE, b"[" * 50_000), "adapter_config.json is damaged"),
}


@pytest.mark.parametrize("case", BROKEN)
async def test_a_bad_adapter_says_why_and_the_others_go_on(
    api: httpx.AsyncClient, folder: Path, messages: Messages, case: str
) -> None:
    spoil, why = BROKEN[case]
    adapters.write(folder / "good")
    spoil(adapters.write(folder / "bad"))
    for _ in range(2):
        said = message_of(await ask(api, messages, model="maze-base:bad"), 400)
        assert said.startswith("LoRA adapter 'maze-base:bad' was found but could not be loaded: ")
        assert why in said
        assert str(folder) not in said
    assert await says(api, messages, model="maze-base:good")
    assert await says(api, messages)


async def test_weights_too_large_to_compute_with_say_so(
    api: httpx.AsyncClient, folder: Path, messages: Messages
) -> None:
    adapters.write(folder / "loud")
    _fill(folder / "loud", 4e18)
    for fields in ({}, {"logprobs": True}, {"stream": True}, {"temperature": 1}):
        said = message_of(await ask(api, messages, model="maze-base:loud", **fields), 400)
        assert "its weights are too large" in said
    assert await says(api, messages)


async def test_a_folder_with_one_of_the_files_is_no_adapter(
    api: httpx.AsyncClient, folder: Path, messages: Messages
) -> None:
    (adapters.write(folder / "half") / CONFIG_FILE).unlink()
    message_of(await ask(api, messages, model="maze-base:half"), 404)
    found = await api.get("/models")
    assert [model["id"] for model in found.json()["data"]] == ["maze-base"]


@pytest.mark.parametrize(
    "name", ["..", ".", "", "a/b", "../adapters/mine", ".tmp-mine", "mine\0", "m" * 129]
)
async def test_a_name_never_leaves_the_folder(
    api: httpx.AsyncClient, folder: Path, messages: Messages, name: str
) -> None:
    for place in (folder, folder / "mine", folder / ".tmp-mine", folder / "a" / "b"):
        adapters.write(place)
    message_of(await ask(api, messages, model=f"maze-base:{name}"), 404)
    message_of(await ask(api, messages, model="other-base:mine"), 404)


async def test_a_new_a_changed_and_a_removed_adapter_are_noticed(
    api: httpx.AsyncClient, folder: Path, messages: Messages
) -> None:
    async def log_prob() -> float:
        found = await ask(api, messages, model="maze-base:mine", logprobs=True)
        return float(found.json()["choices"][0]["logprobs"]["content"][1]["logprob"])

    message_of(await ask(api, messages, model="maze-base:mine"), 404)
    adapters.write(folder / "mine", seed=1)
    adapters.touch(folder / "mine", 1_000)
    before = await log_prob()
    adapters.write(folder / "mine", seed=2)
    adapters.touch(folder / "mine", 2_000)
    assert await log_prob() != before
    adapters.cut(folder / "mine")
    message_of(await ask(api, messages, model="maze-base:mine"), 400)
    shutil.rmtree(folder / "mine")
    message_of(await ask(api, messages, model="maze-base:mine"), 404)


def test_only_a_few_adapters_stay_in_memory(folder: Path) -> None:
    models = Models(read_base(BASE_FILE)[0], folder, capacity=2)
    for name in "abc":
        adapters.write(folder / name)
    first, second = models.policy("maze-base:a"), models.policy("maze-base:b")
    assert models.policy("maze-base:a") is first
    models.policy("maze-base:c")
    assert models.policy("maze-base:a") is first
    assert models.policy("maze-base:b") is not second


def test_a_missing_folder_means_no_adapters(tmp_path: Path) -> None:
    models = Models(read_base(BASE_FILE)[0], tmp_path / "none")
    assert models.names() == []
    with pytest.raises(ServingError, match="does not exist"):
        models.policy("maze-base:a")
