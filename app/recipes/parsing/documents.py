"""Reads configs that are data: YAML or JSON dumps, flat or nested, and lists of overrides."""

import json
import re
from collections.abc import Mapping
from typing import Any

from app.recipes.parsing.found import Found
from app.recipes.texts import is_plain, load_yaml

_GROUPS = ("data", "trainer", "generator", "environment", "job")
_LINE = re.compile(r"(?:[+~]{0,2})(?:data|trainer|generator|environment)\.[\w.\-\[\]]+=")
# Where another override begins on the same line; a value may hold blanks. The blanks are no part
# of the pattern: tried from each of them, it would take as many steps as their square.
_SEVERAL = re.compile(r"(?<=\s)(?=(?:data|trainer|generator|environment)\.[\w.\-]+=)")


def find_document(text: str) -> dict[str, Any] | None:
    """The mapping that a text holds, if it reads as a config; None where it is something else.

    Raises `ValueError` for a text that is surely meant as one and cannot be read.
    """
    looks_so = text.startswith("{") or any(
        re.search(rf"(?m)^{group}(\.\S+)?:(\s|$)", text) for group in (*_GROUPS, "recipe", "config")
    )
    if not looks_so:
        return None
    found = load_yaml(text)
    if isinstance(found, dict) and not is_plain(found):
        raise ValueError(
            "it holds what no config can: a date, a set, a number as a key, or a number without "
            "end such as 1e999: put it in quotes"
        )
    return found if isinstance(found, dict) else None


def find_list(text: str) -> list[tuple[int, str]] | None:
    """Overrides that stand one a line, or as a JSON or YAML list; None for other texts."""
    if text.startswith("["):
        listed = load_yaml(text)
        is_list = isinstance(listed, list) and all(isinstance(each, str) for each in listed)
        return [(1, each) for each in listed] if is_list else None
    lines = [(n, line.strip()) for n, line in enumerate(text.splitlines(), start=1)]
    lines = [(n, line) for n, line in lines if line and not line.startswith("#")]
    if not lines or not all(_LINE.match(line) and line[-1] != "\\" for _, line in lines):
        return None
    return [(n, each.rstrip()) for n, line in lines for each in _SEVERAL.split(line)]


def read_document(document: Mapping[str, Any], found: Found) -> tuple[str | None, dict[str, Any]]:
    """Recipe (None if it names none) and values by dotted key, as far as groups go.

    A document is one of ours, with `recipe` and `config`, or a dump of SkyRL's config.
    """
    recipe = document.get("recipe")
    inner = document.get("config", document)
    if not isinstance(inner, dict):
        found.miss(1, f"config: {inner}", "config holds no values by key")
        inner = {}
    outside = {k: v for k, v in document.items() if k not in ("recipe", "config", "name")}
    if inner is not document:
        for key, value in outside.items():
            if value not in ("", [], None):
                found.note(1, f"{key}: {json.dumps(value)}", "not a part of the config")
    values: dict[str, Any] = {}
    for key, value in inner.items():
        if inner is document and key in ("recipe", "name"):
            continue
        if key.partition(".")[0] not in _GROUPS:
            found.miss(1, f"{key}: {json.dumps(value)}", f"{key} is no group of SkyRL's config")
        else:
            values[key] = value
    return recipe if isinstance(recipe, str) else None, values
