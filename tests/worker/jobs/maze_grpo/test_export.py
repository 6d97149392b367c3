import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from worker.jobs.maze_grpo.base import BASE_FILE
from worker.jobs.maze_grpo.export import BadAdapter, read_adapter, read_base, write_export
from worker.jobs.maze_grpo.lora import Lora
from worker.jobs.maze_grpo.vectors import Pack

FACTS = {"run": "run-a", "step": "40", "train_first_seed": "5"}


def exported(folder: Path, lora: Lora) -> Pack:
    adapter = lora.new_adapter(np.random.default_rng(1))
    adapter.vector[...] += 0.5
    write_export(folder, adapter, lora, base="the-base", facts=FACTS)
    return adapter


def test_an_export_is_a_peft_adapter(tmp_path: Path) -> None:
    exported(tmp_path / "policy", Lora(32, 16.0))
    assert {path.name for path in (tmp_path / "policy").iterdir()} == {
        "adapter_model.safetensors",
        "adapter_config.json",
        "README.md",
    }
    config = json.loads((tmp_path / "policy" / "adapter_config.json").read_text())
    assert (config["peft_type"], config["r"], config["lora_alpha"]) == ("LORA", 32, 16)
    assert config["rank_pattern"] == {"stem": 24, "loop": 24, "head": 5}
    assert config["alpha_pattern"] == {"stem": 12, "loop": 12, "head": 2.5}
    assert (config["inference_mode"], config["base_model_name_or_path"]) == (True, "the-base")
    tensors = load_file(tmp_path / "policy" / "adapter_model.safetensors")
    shapes = {name: tensor.shape for name, tensor in tensors.items() if "loop" in name}
    assert shapes == {
        "base_model.model.loop.lora_A.weight": (24, 24, 3, 3),
        "base_model.model.loop.lora_B.weight": (24, 24, 1, 1),
    }


def test_an_export_comes_back_as_it_was(tmp_path: Path) -> None:
    adapter = exported(tmp_path / "policy", Lora(8, 12.0))
    lora, got, facts = read_adapter(tmp_path / "policy")
    assert lora == Lora(8, 12.0)
    assert np.array_equal(got.vector, adapter.vector)
    assert facts == {"format": "pt", **FACTS}


def test_what_is_no_adapter_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadAdapter, match="holds no adapter: No such file"):
        read_adapter(tmp_path)
    exported(tmp_path / "policy", Lora(8, 12.0))
    config = tmp_path / "policy" / "adapter_config.json"
    config.write_text(config.read_text().replace('"r": 8', '"r": 9'))
    with pytest.raises(BadAdapter, match="no adapter of this model"):
        read_adapter(tmp_path / "policy")


def test_the_shipped_base_tells_how_it_was_made() -> None:
    weights, facts = read_base(BASE_FILE)
    assert sum(tensor.size for tensor in weights.values()) == 30_845
    assert int(facts["cloning_mazes"]) > 0
    assert BASE_FILE.stat().st_size < 130_000


def test_what_is_no_base_is_refused(tmp_path: Path) -> None:
    (tmp_path / "base.safetensors").write_bytes(b"12345678910")
    with pytest.raises(ValueError, match="holds no base model"):
        read_base(tmp_path / "base.safetensors")
