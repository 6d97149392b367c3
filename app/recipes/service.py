"""The recipes there are, and full configs made from them. No database is involved."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from app.errors import Invalid, NotFound, Problem
from app.recipes import parse as parsing
from app.recipes import render as rendering
from app.recipes import skyrl_checks, yaml_text
from app.recipes import validate as checks
from app.recipes.catalogue import load_all
from app.recipes.common import SECRETS, normal, secret_names, with_common
from app.recipes.diff import Change, changes
from app.recipes.embedded_maze_grpo import RECIPE as EMBEDDED_MAZE_GRPO
from app.recipes.examine import Examined, Place, embedded_refusal, examine, gpus_asked
from app.recipes.model import Findings, Package, Recipe, Value
from app.recipes.numbers import find_whole_number, is_finite
from app.recipes.other_runs import ABOUT_OTHER_RUNS, fixed_paths, other_run, shared_paths
from app.recipes.parse import Imported
from app.recipes.skyrl.rules import ABOUT_CLUSTER
from app.recipes.skyrl.rules.context import ClusterResources, OtherRun
from app.recipes.skyrl.tree import Key
from app.recipes.texts import UnreadableError, dump_line, read_any
from app.recipes.yaml_text import Document

__all__ = [
    "ABOUT_CLUSTER",
    "ABOUT_OTHER_RUNS",
    "LONGEST_DOCUMENT",
    "SECRETS",
    "ClusterResources",
    "Document",
    "Examined",
    "Key",
    "OtherRun",
    "Place",
    "UnreadableError",
    "change_document",
    "complete",
    "diff",
    "embedded_refusal",
    "examine",
    "find_key",
    "find_keys",
    "find_whole_number",
    "fixed_paths",
    "flatten",
    "get",
    "gpus_of",
    "import_text",
    "leaves",
    "list_all",
    "other_run",
    "problems",
    "read_document",
    "read_texts",
    "render",
    "resolve",
    "secret_names",
    "shared_paths",
    "validate",
    "version_of",
    "write_document",
    "write_value",
]

LONGEST_DOCUMENT = yaml_text.LONGEST
"""Characters of a YAML text that is read."""

_RECIPES = {recipe.name: with_common(recipe) for recipe in (EMBEDDED_MAZE_GRPO, *load_all())}
_FLAT_TEXT_LENGTH = 500
_KEY_LENGTH = 300
_KEYS_LOOKED_AT, _KEYS_OFFERED = 120, 20


def list_all() -> list[Recipe]:
    return list(_RECIPES.values())


def get(name: str) -> Recipe:
    """Raises `NotFound`, naming the recipes there are."""
    if name not in _RECIPES:
        known = ", ".join(_RECIPES)
        raise NotFound(f"there is no recipe named {name!r}; there are {known}")
    return _RECIPES[name]


def validate(
    recipe: Recipe,
    config: Mapping[str, Any],
    *,
    cluster: ClusterResources | None = None,
    is_embedded: bool = False,
) -> Findings:
    """All errors, warnings and notes of a config, whose missing keys take their defaults.

    With `cluster`, also whether it has the GPUs; `is_embedded`, whether it runs such recipes.
    """
    place = Place(cluster=cluster, is_embedded=is_embedded)
    return examine(recipe, config, place).findings


def is_embedded_only(name: str) -> bool:
    """Whether a recipe's job runs from Skydeck's own folder; False for a recipe that is gone."""
    try:
        return get(name).package is Package.ARGUMENTS
    except NotFound:
        return False


def version_of(name: str) -> int:
    """The version of a recipe. Raises `NotFound`."""
    return get(name).version


def resolve(name: str, config: Mapping[str, Any]) -> dict[str, Value]:
    """Full values: the recipe's defaults under `config`, each in its exact type.

    Raises `NotFound` for the recipe, `Invalid` with one problem for each field of each error.
    """
    found = examine(get(name), config)
    if found.values is None:
        raise Invalid(f"the config does not fit {name}", problems(found.findings))
    return found.values


def complete(recipe: Recipe, config: Mapping[str, Any]) -> dict[str, Value]:
    """Full values of a config without errors, as `resolve` gives them."""
    return normal(checks.complete(recipe, config))


def import_text(text: str) -> Imported:
    """A config from a script, a command, overrides or a dump. Raises `Invalid`, `NotFound`."""
    return parsing.parse(text, get)


def gpus_of(name: str, values: Mapping[str, Any]) -> int | None:
    """GPUs that a run of stored values asks for; None where nobody here knows.

    That is so for runs from outside and for recipes that are gone.
    """
    try:
        recipe = get(name)
    except NotFound:
        return None
    parts = gpus_asked(recipe, _filled(recipe, values))
    return None if parts is None else sum(parts.values())


def diff(
    before: tuple[Recipe, Mapping[str, Any]], after: tuple[Recipe, Mapping[str, Any]]
) -> list[Change]:
    """Where two configs differ once their recipes' defaults are filled in.

    Values need not be valid, so that a config can be compared before it is mended.
    """
    return changes(_filled(*before), _filled(*after))


def _filled(recipe: Recipe, config: Mapping[str, Any]) -> dict[str, Value]:
    known = {key: value for key, value in config.items() if key not in recipe.fields()}
    return {key: config.get(key, default) for key, default in recipe.defaults().items()} | dict(
        sorted(known.items())
    )


def problems(findings: Findings) -> list[Problem]:
    return [
        Problem(field, error.rule, f"{error.message}: {error.fix}" if error.fix else error.message)
        for error in findings.errors
        for field in error.fields or ("",)
    ]


def render(recipe: Recipe, values: Mapping[str, Value]) -> rendering.Rendered:
    """The files and the submit command of full values; see `app/recipes/render.py`.

    Values that were stored before the recipe had some of its keys take its defaults for those.
    """
    return rendering.render(recipe, _filled(recipe, values))


def read_texts(recipe: Recipe, texts: Mapping[str, str]) -> dict[str, Any]:
    """A config from what was typed into a form; a text that is no value stays for `validate`.

    Keys beyond the form are read as YAML where the recipe takes such keys.
    """
    fields = recipe.fields()
    return {
        key: checks.read_text(fields[key], text)
        if key in fields
        else text
        if recipe.tree is None
        else read_any(text)
        for key, text in texts.items()
    }


def write_value(value: Any) -> str:
    """A value of a key beyond the form as text, which `read_texts` reads as the same."""
    return dump_line(value)


def read_document(recipe: Recipe, text: str) -> Document:
    """A config from YAML text, with the place of each key. Raises `UnreadableError`."""
    return yaml_text.read(text, lambda path: _is_value(recipe, path))


def write_document(
    recipe: Recipe, values: Mapping[str, Any], *, remarks: tuple[str, ...] = ()
) -> str:
    """A config as YAML text, which `read_document` reads as the same."""
    return yaml_text.write(recipe, values, remarks=remarks)


def change_document(recipe: Recipe, text: str, values: Mapping[str, Any]) -> str:
    """The YAML text with these values in place; comments of lines that stay are kept."""
    return yaml_text.change(text, recipe, values, lambda path: _is_value(recipe, path))


def find_keys(recipe: Recipe, typed: str) -> list[Key]:
    """Keys beyond the form that begin with, or contain, what was typed; at most 20."""
    if recipe.tree is None:
        return []
    fields = recipe.fields()
    found = skyrl_checks.tree_of(recipe.tree).complete(typed, limit=_KEYS_LOOKED_AT)
    return [key for key in found if key.key not in fields][:_KEYS_OFFERED]


def find_key(recipe: Recipe, key: str) -> Key | None:
    """What SkyRL says of a key; None where it has none, or the recipe is none of SkyRL's."""
    return None if recipe.tree is None else skyrl_checks.tree_of(recipe.tree).find(key)


def _is_value(recipe: Recipe, path: str) -> bool:
    if path in recipe.fields():
        return True
    if recipe.tree is None:
        return False
    tree = skyrl_checks.tree_of(recipe.tree)
    return tree.find(path) is not None and not tree.is_group(path)


def flatten(values: Mapping[str, Any]) -> Iterator[tuple[str, float | None, str]]:
    """(dotted key, number, text) of each value, as `config_value` rows hold them; keys once.

    A bool counts as 0 or 1; a value that is no number has number None. A number that a float64
    holds exactly has no text. Nested mappings become dotted keys. Keys are cut at 300 characters
    and texts at 500.
    """
    seen: set[str] = set()
    for key, value in leaves(values):
        cut = key[:_KEY_LENGTH]
        if cut not in seen:
            seen.add(cut)
            number = _number(value)
            is_all = number is not None and not isinstance(value, bool) and number == value
            yield cut, number, "" if is_all else _text(value)[:_FLAT_TEXT_LENGTH]


def leaves(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """(dotted key, value) of each value; nested mappings become dotted keys."""
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, bool | int | float) and is_finite(value) else None
