"""Reads configs that are data: YAML or JSON dumps, flat or nested, and lists of overrides."""

import json
import re
from collections.abc import Mapping
from typing import Any

import yaml

from app.recipes.parsing.found import Found
from app.recipes.texts import compose_yaml, is_plain, load_yaml

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
    if text.startswith(("[", "- ")):
        node = compose_yaml(text)
        items = node.value if isinstance(node, yaml.SequenceNode) else []
        if not items or not all(isinstance(each, yaml.ScalarNode) for each in items):
            return None
        return [(each.start_mark.line + 1, each.value) for each in items]
    lines = [(n, line.strip()) for n, line in enumerate(text.splitlines(), start=1)]
    lines = [(n, line) for n, line in lines if line and not line.startswith("#")]
    if not lines or not all(_LINE.match(line) and line[-1] != "\\" for _, line in lines):
        return None
    return [(n, each.rstrip()) for n, line in lines for each in _SEVERAL.split(line)]


def list_repeats(text: str, found: Found) -> None:
    """Lists the keys of a document that stand twice: the last of them counts."""
    nodes = [compose_yaml(text)]
    while nodes:
        node = nodes.pop()
        if isinstance(node, yaml.SequenceNode):
            nodes += node.value
        elif isinstance(node, yaml.MappingNode):
            last = {key.value: key for key, _ in node.value}
            for key, value in node.value:
                nodes.append(value)
                if last[key.value] is not key:
                    line, again = key.start_mark.line + 1, last[key.value].start_mark.line + 1
                    reason = f"it stands again on line {again}, which counts"
                    found.miss(line, str(key.value), reason)


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
