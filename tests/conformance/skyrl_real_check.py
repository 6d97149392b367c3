"""Runs override lists through the real SkyRL's whole check: JSON list of lists in, reasons out.

As `skyrl_real.py`, and then `validate_cfg`. Ray is absent too; the registries of estimators and
losses are SkyRL's own. One text a list: empty if it is accepted, else the error.
"""

import contextlib
import importlib
import json
import sys
import warnings
from typing import Any

# Beside this file, which runs where this project is not installed.
skyrl_real: Any = importlib.import_module("skyrl_real")


def load() -> tuple[Any, Any]:
    """The real `SkyRLTrainConfig` and `validate_cfg`."""
    skyrl_real.ABSENT.update({"ray", "tensordict", "transformers", "jaxtyping", "peft"})
    config = skyrl_real.load()
    vars(importlib.import_module("ray"))["is_initialized"] = lambda: False
    utils = importlib.import_module("skyrl.train.utils.utils")
    return config, utils.validate_cfg


def run(config: Any, validate: Any, args: list[str]) -> str:
    try:
        validate(config.from_cli_overrides(args))
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:300]
    return ""


def main() -> None:
    warnings.simplefilter("ignore")
    answer, sys.stdout = sys.stdout, sys.stderr
    config, validate = load()
    with contextlib.redirect_stderr(None):
        results = [run(config, validate, args) for args in json.load(sys.stdin)]
    json.dump(results, answer)


if __name__ == "__main__":
    main()
