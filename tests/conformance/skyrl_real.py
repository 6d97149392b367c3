"""Runs override lists through the real SkyRL: JSON list of lists in, JSON list of results out.

Stands alone: it runs in the environment of `skyrl_venv.sh`, which has no torch, vLLM or Ray. Empty
modules stand in for those and for the package initialisers that import them, and one function is
written out; everything else is SkyRL's own code.
"""

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import json
import os
import sys
import warnings
from collections.abc import Sequence
from dataclasses import asdict
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock

ABSENT = {"torch", "vllm", "ray", "safetensors", "zstandard", "xxhash"}


class _Absent(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds empty modules whose attributes are mocks."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname.partition(".")[0] not in ABSENT:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = ModuleType(spec.name)
        module.__getattr__ = lambda name: MagicMock(name=name)  # type: ignore[method-assign]
        return module

    def exec_module(self, module: ModuleType) -> None:
        pass


def _uses_lora_weight_sync(cfg: Any) -> bool:
    """As in skyrl/backends/skyrl_train/inference_servers/utils.py, which imports vLLM."""
    if cfg.trainer.policy.model.lora.rank <= 0:
        return False
    if cfg.trainer.strategy == "megatron":
        return not cfg.trainer.policy.megatron_config.lora_config.merge_lora
    return True


def _stub(root: str, name: str, **content: object) -> None:
    """A package without its initialiser; its modules are found where they are."""
    module = ModuleType(name)
    module.__path__ = [os.path.join(root, *name.split(".")[1:])]
    vars(module).update(content)
    sys.modules[name] = module
    parent, _, child = name.rpartition(".")
    setattr(sys.modules[parent], child, module)


def load() -> Any:
    """The real `SkyRLTrainConfig`."""
    import skyrl

    sys.meta_path.append(_Absent())
    vars(importlib.import_module("torch"))["dtype"] = type("dtype", (), {})  # isinstance asks it
    root = os.path.dirname(skyrl.__file__)
    servers = "skyrl.backends.skyrl_train.inference_servers"
    for name in ("skyrl.backends", "skyrl.backends.skyrl_train", servers):
        _stub(root, name)
    _stub(root, f"{servers}.utils", _uses_lora_weight_sync=_uses_lora_weight_sync)
    from skyrl.train.config import SkyRLTrainConfig

    return SkyRLTrainConfig


def encode(value: Any) -> Any:
    """A value as JSON that keeps types apart; the order of dict keys does not matter."""
    if isinstance(value, dict):
        pairs = [[encode(key), encode(each)] for key, each in value.items()]
        return {"dict": sorted(pairs, key=repr)}
    if isinstance(value, list):
        return [encode(each) for each in value]
    if value is None or isinstance(value, bool | str):
        return value
    return {type(value).__name__: repr(value)}


def run(config: Any, args: list[str]) -> dict[str, Any]:
    """`{"error": …}` if SkyRL refuses, else `{"config": …}`, the whole config."""
    try:
        built = config.from_cli_overrides(args)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"[:300]}
    return {"config": encode(asdict(built))}


def main() -> None:
    warnings.simplefilter("ignore")
    answer, sys.stdout = sys.stdout, sys.stderr
    config = load()
    with contextlib.redirect_stderr(None):
        results = [run(config, args) for args in json.load(sys.stdin)]
    json.dump(results, answer)


if __name__ == "__main__":
    main()
