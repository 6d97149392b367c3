"""The short way for usual overrides: plain dicts, without OmegaConf's nodes, ten times faster.

Gives up on everything in which OmegaConf is more than YAML and nested dicts; then
`app/recipes/skyrl/reading.py` reads. Both ways give the same, which tests compare.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import yaml

from app.recipes.skyrl.loader import Loader

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_SPECIAL = re.compile(r"\$\{|\?\?\?|!!|[&*]")


class UnusualError(Exception):
    """Only OmegaConf knows what this means."""


def is_name(part: object) -> bool:
    """Whether it can be a part of a dotted key as it is."""
    return isinstance(part, str) and _NAME.fullmatch(part) is not None


def load_yaml(text: str) -> Any:
    """One usual right side as OmegaConf reads it. Raises `yaml.YAMLError` and `ValueError`."""
    return yaml.load(text, Loader=Loader)  # noqa: S506 - a subclass of CSafeLoader


def merge_texts(args: Sequence[str]) -> dict[Any, Any]:
    """Reads usual `key=value` texts, later ones over earlier. Raises `UnusualError`."""
    return merge_values(_read(arg) for arg in args)


def merge_values(pairs: Iterable[tuple[str, Any]]) -> dict[Any, Any]:
    """Nests values by dotted key, later ones over earlier. Raises `UnusualError`."""
    merged: dict[Any, Any] = {}
    for key, value in pairs:
        path = _path(key)
        if path is None:
            raise UnusualError
        place = merged
        for name in path[:-1]:
            below = place.get(name)
            if isinstance(below, list):
                raise UnusualError
            if not isinstance(below, dict):
                place[name] = below = {}
            place = below
        _set(place, path[-1], value)
    return merged


@lru_cache(maxsize=2_000)
def _path(key: str) -> tuple[str, ...] | None:
    """The parts of a plain dotted key; None for any other."""
    parts = tuple(key.split("."))
    return parts if all(map(is_name, parts)) else None


def _read(arg: str) -> tuple[str, Any]:
    key, equals, text = arg.partition("=")
    if not equals or _SPECIAL.search(text):
        raise UnusualError
    try:
        return key, load_yaml(text)
    except Exception as error:  # OmegaConf's own message is wanted
        raise UnusualError from error


def _set(place: dict[Any, Any], name: str, value: Any) -> None:
    """A dict is merged into a dict, all else replaces."""
    below = place.get(name)
    if isinstance(value, list | dict) and isinstance(below, list | dict):
        if type(value) is not type(below):
            raise UnusualError
        if isinstance(value, dict) and isinstance(below, dict):
            _merge(below, value)
            return
    place[name] = _copy(value)


def _merge(into: dict[Any, Any], value: Mapping[Any, Any]) -> None:
    for name, each in value.items():
        if isinstance(into.get(name), dict) and not isinstance(each, dict):
            raise UnusualError
        _set(into, name, each)


def _copy(value: Any) -> Any:
    """The same, of kinds that OmegaConf holds as they are."""
    if isinstance(value, dict):
        if not all(isinstance(name, str) for name in value):
            raise UnusualError
        return {name: _copy(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_copy(each) for each in value]
    if value is None or type(value) in (bool, int, float, str):
        return value
    raise UnusualError
