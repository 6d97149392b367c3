"""The table of a config's values, which the pages of several features show."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.errors import NotFound
from app.recipes import service as recipes
from app.recipes.model import Recipe
from app.web.forms import as_text


@dataclass(frozen=True, slots=True)
class ConfigRow:
    """One setting. `default` is None where the recipe has none."""

    key: str
    label: str
    value: str
    default: str | None

    @property
    def is_changed(self) -> bool:
        return self.default is not None and self.value != self.default


@dataclass(frozen=True, slots=True)
class ConfigGroup:
    """Settings under one heading."""

    title: str
    rows: list[ConfigRow]


@dataclass(frozen=True, slots=True)
class ConfigChange:
    """A key whose value is not the recipe's, with both as text; None: that side has no such key."""

    key: str
    before: str | None
    after: str | None


def find_recipe(name: str) -> Recipe | None:
    """None for what is fed from outside, and for a recipe that a later version dropped."""
    try:
        return recipes.get(name)
    except NotFound:
        return None


def config_groups(values: Mapping[str, Any], recipe: Recipe | None) -> list[ConfigGroup]:
    """The config in the groups of its recipe's form; keys that it does not have come last."""
    left = dict(values)
    groups = []
    for group in recipe.groups if recipe else ():
        rows = [
            ConfigRow(f.key, f.label, as_text(left.pop(f.key)), as_text(f.default))
            for f in group.fields
            if f.key in left
        ]
        groups.append(ConfigGroup(group.title, rows))
    if left:
        rest = [ConfigRow(key, key, as_text(value), None) for key, value in left.items()]
        groups.append(ConfigGroup("Other", rest))
    return groups


def config_changes(values: Mapping[str, Any], recipe: Recipe) -> list[ConfigChange]:
    """Where the config differs from its recipe's own values, as they are now."""
    return [
        ConfigChange(
            change.key,
            None if change.is_new else as_text(change.before),
            None if change.is_gone else as_text(change.after),
        )
        for change in recipes.diff((recipe, {}), (recipe, values))
    ]
