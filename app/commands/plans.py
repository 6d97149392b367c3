"""What to launch: a recipe's name, or a file with recipe, config, name, hypothesis and tags."""

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.errors import SkydeckError

_KEYS = {"recipe": str, "config": dict, "name": str, "hypothesis": str, "tags": list}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What the body of `POST /experiments` needs; config keys are dotted."""

    recipe: str
    name: str
    config: dict[str, Any] = field(default_factory=dict)
    hypothesis: str = ""
    tags: list[str] = field(default_factory=list)


def read_plan(source: str, assignments: Sequence[str]) -> Plan:
    """The plan of a recipe or file, with `KEY=VALUE` assignments over it. Raises `SkydeckError`."""
    path = Path(source)
    given: dict[str, Any] = {"recipe": source}
    if path.suffix in (".json", ".toml"):
        given = _read(path)
    if "recipe" not in given:
        raise SkydeckError(f"{source} names no recipe")
    config = dict(_flat(given.pop("config", {})))
    config.update(_assignment(text) for text in assignments)
    return Plan(**{"name": given["recipe"]} | given, config=config)


def read_yaml(source: str) -> str | None:
    """The text of a YAML file; None for a file of another kind. Raises `SkydeckError`."""
    path = Path(source)
    if path.suffix not in (".yaml", ".yml"):
        return None
    try:
        return path.read_text()
    except OSError as error:
        raise SkydeckError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError:
        raise SkydeckError(f"{path} is no text in UTF-8") from None


def _read(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text()
        content = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except OSError as error:
        raise SkydeckError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise SkydeckError(f"{path} is no {path.suffix[1:].upper()}: {error}") from None
    if not isinstance(content, dict):
        raise SkydeckError(f"{path} holds no object")
    for key, value in content.items():
        if key not in _KEYS:
            raise SkydeckError(f"{path}: unknown key {key!r}; known are {', '.join(_KEYS)}")
        if not isinstance(value, _KEYS[key]):
            raise SkydeckError(f"{path}: {key} has the wrong type")
    return content


def _flat(values: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    pairs: list[tuple[str, Any]] = []
    for key, value in values.items():
        is_group = isinstance(value, Mapping)
        pairs += _flat(value, f"{prefix}{key}.") if is_group else [(f"{prefix}{key}", value)]
    return pairs


def _assignment(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise SkydeckError(f"--set {text}: give KEY=VALUE")
    try:
        return key.strip(), json.loads(value)
    except ValueError:
        return key.strip(), value
