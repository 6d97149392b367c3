"""The recipes there are, and full configs made from them. No database is involved."""

from collections.abc import Mapping
from typing import Any

from app.errors import Invalid, NotFound, Problem
from app.recipes import render as rendering
from app.recipes import validate as checks
from app.recipes.embedded_maze_grpo import RECIPE as EMBEDDED_MAZE_GRPO
from app.recipes.model import Findings, Recipe, Value

_RECIPES = {recipe.name: recipe for recipe in (EMBEDDED_MAZE_GRPO,)}
_FLAT_TEXT_LENGTH = 500


def list_all() -> list[Recipe]:
    return list(_RECIPES.values())


def get(name: str) -> Recipe:
    """Raises `NotFound`, naming the recipes there are."""
    if name not in _RECIPES:
        known = ", ".join(_RECIPES)
        raise NotFound(f"there is no recipe named {name!r}; there are {known}")
    return _RECIPES[name]


def validate(recipe: Recipe, config: Mapping[str, Any]) -> Findings:
    return checks.validate(recipe, config)


def resolve(recipe: Recipe, config: Mapping[str, Any]) -> dict[str, Value]:
    """Full values: the recipe's defaults under `config`, each in its exact type.

    Raises `Invalid` with one problem for each field of each error.
    """
    findings = checks.validate(recipe, config)
    if not findings.ok:
        raise Invalid(f"the config does not fit {recipe.name}", problems(findings))
    return checks.complete(recipe, config)


def problems(findings: Findings) -> list[Problem]:
    return [
        Problem(field, error.rule, f"{error.message}: {error.fix}" if error.fix else error.message)
        for error in findings.errors
        for field in error.fields
    ]


def render(recipe: Recipe, values: Mapping[str, Value]) -> rendering.Rendered:
    """The files and the submit command of full values; see `app/recipes/render.py`."""
    return rendering.render(recipe, values)


def read_texts(recipe: Recipe, texts: Mapping[str, str]) -> dict[str, Any]:
    """A config from what was typed into a form; a text that is no value stays for `validate`."""
    fields = recipe.fields()
    return {
        key: checks.read_text(fields[key], text) if key in fields else text
        for key, text in texts.items()
    }


def flatten(values: Mapping[str, Any], prefix: str = "") -> dict[str, tuple[float | None, str]]:
    """Dotted keys with (number, text) of each value, as `config_value` rows hold them.

    A bool counts as 0 or 1; a value that is no number has number None. Nested mappings become
    dotted keys; text is cut at 500 characters, and so are keys at 300.
    """
    flat: dict[str, tuple[float | None, str]] = {}
    for key, value in values.items():
        dotted = f"{prefix}{key}"[:300]
        if isinstance(value, Mapping):
            flat |= flatten(value, f"{dotted}.")
        else:
            flat[dotted] = (_number(value), rendering.argument(value)[:_FLAT_TEXT_LENGTH])
    return flat


def _number(value: object) -> float | None:
    try:
        return float(value) if isinstance(value, bool | int | float) else None
    except OverflowError:
        return None
