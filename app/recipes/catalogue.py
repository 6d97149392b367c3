"""Recipes that are data: a file in `data/` each, over a file of fields that several may share.

A recipe's file names its `fields` file and gives `values` where it does not take that file's
defaults; see the files themselves. Adding a recipe is adding a file and naming it in `_FILES`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from importlib import resources
from typing import Any

from app.recipes.model import Difference, Field, FieldType, Group, Package, Recipe
from app.recipes.texts import load_yaml

_DATA = resources.files("app.recipes") / "data"
_FILES = ("visgym-sft-grpo.yaml", "visgym-instruct-grpo.yaml", "command.yaml")


def load_all() -> list[Recipe]:
    """All recipes that are data, in the order in which they are offered."""
    return [read(_load(name)) for name in _FILES]


def read(entry: Mapping[str, Any]) -> Recipe:
    """A recipe of a file's content. Raises `ValueError` for values that are no field's."""
    plain = [_group(each) for each in _load(entry["fields"])]
    fields = {field.key: field for group in plain for field in group.fields}
    values = entry["values"]
    if unknown := values.keys() - fields.keys():
        raise ValueError(f"{entry['name']} gives values to {unknown}, which are no fields")
    return Recipe(
        name=entry["name"],
        title=entry["title"],
        version=entry["version"],
        summary=entry["summary"],
        needs=entry["needs"],
        package=Package(entry["package"]),
        tree=entry.get("tree"),
        follows=entry.get("follows", ""),
        groups=tuple(Group(group.title, tuple(_with(group, values))) for group in plain),
        differences=tuple(Difference(**each) for each in entry.get("differences", ())),
        absent={key: fields[key].default for key in values if values[key] != fields[key].default},
    )


@cache
def _load(name: str) -> Any:
    return load_yaml((_DATA / name).read_text(encoding="utf-8"))


def _group(entry: Mapping[str, Any]) -> Group:
    return Group(entry["title"], tuple(_field(each) for each in entry["fields"]))


def _field(entry: Mapping[str, Any]) -> Field:
    given = {
        key: value for key, value in entry.items() if key not in ("type", "choices", "optional")
    }
    kind = FieldType(entry["type"]) if "type" in entry else None
    is_optional = entry.get("optional", entry["default"] is None)
    choices = tuple(entry.get("choices", ()))
    return Field(**given, kind=kind, is_optional=is_optional, choices=choices)


def _with(group: Group, values: Mapping[str, Any]) -> Iterator[Field]:
    for field in group.fields:
        # The type is the field's own, whatever YAML made of the recipe's value.
        yield replace(field, default=values.get(field.key, field.default), kind=field.type)
