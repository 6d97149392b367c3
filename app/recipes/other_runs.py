"""Paths that only one run may write to, and which of them other runs write to, too. Pure."""

from collections.abc import Mapping
from typing import Any

from app.recipes.model import RUN_ID, Recipe
from app.recipes.skyrl.rules import keys as k
from app.recipes.skyrl.rules.context import OtherRun

ABOUT_OTHER_RUNS = frozenset({"trap.ckpt_shared", "trap.lora_sync_shared"})
"""Rules that find what these paths tell."""

_OWN = (k.CKPT_PATH, k.EXPORT_PATH, k.SYNC_PATH)
_NAMES = {str(k.CKPT_PATH): "ckpt_path", str(k.SYNC_PATH): "lora_sync_path"}


def shared_paths(recipe: Recipe, config: Mapping[str, Any]) -> dict[str, str]:
    """Paths by key that another run may have, too, and that are looked for in other runs."""
    return {key: path for key, path in fixed_paths(recipe, config).items() if key in _NAMES}


def fixed_paths(recipe: Recipe, config: Mapping[str, Any]) -> dict[str, str]:
    """Paths by key that each run of the config writes to: one with `{run_id}` is a run's own."""
    if recipe.tree is None:
        return {}
    values = {**recipe.defaults(), **config}
    paths = {str(key): values.get(str(key)) for key in _OWN}
    return {
        key: path
        for key, path in paths.items()
        if isinstance(path, str) and path and RUN_ID not in path
    }


def other_run(name: str, paths: Mapping[str, str]) -> OtherRun:
    """A run that writes to these paths, by key."""
    return OtherRun(name=name, **{_NAMES[key]: path for key, path in paths.items()})
