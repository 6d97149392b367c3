"""The recipes there are, and full configs made from them. No database is involved."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from app.errors import Invalid, NotFound, Problem
from app.recipes import job_rules, skyrl_checks, yaml_text
from app.recipes import parse as parsing
from app.recipes import render as rendering
from app.recipes import validate as checks
from app.recipes.catalogue import load_all
from app.recipes.common import SECRETS, normal, secret_names, with_common
from app.recipes.diff import Change, changes
from app.recipes.embedded_maze_grpo import RECIPE as EMBEDDED_MAZE_GRPO
from app.recipes.model import Finding, Findings, Package, Recipe, Value
from app.recipes.numbers import find_whole_number, is_finite
from app.recipes.parse import Imported
from app.recipes.skyrl.rules.context import ClusterResources
from app.recipes.skyrl.tree import Key
from app.recipes.texts import UnreadableError, dump_line, read_any
from app.recipes.yaml_text import Document

__all__ = [
    "SECRETS",
    "ClusterResources",
    "Document",
    "Key",
    "UnreadableError",
    "change_document",
    "complete",
    "diff",
    "embedded_refusal",
    "find_key",
    "find_keys",
    "find_whole_number",
    "flatten",
    "get",
    "gpus_by_part",
    "import_text",
    "list_all",
    "problems",
    "read_document",
    "read_texts",
    "render",
    "resolve",
    "secret_names",
    "validate",
    "version_of",
    "write_document",
    "write_value",
]

_RECIPES = {recipe.name: with_common(recipe) for recipe in (EMBEDDED_MAZE_GRPO, *load_all())}
_JOB_RULES = {Package.SKYRL: job_rules.SKYRL_RULES, Package.COMMAND: job_rules.COMMAND_RULES}
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
    found = checks.validate(recipe, config)
    if found.ok:
        values = checks.complete(recipe, config)
        errors = tuple(e for rule in _JOB_RULES.get(recipe.package, ()) for e in rule(values))
        found = replace(found, errors=found.errors + errors)
        if found.ok and recipe.tree is not None:
            found = skyrl_checks.examine(recipe, values, cluster=cluster)
    refusal = embedded_refusal(recipe) if is_embedded else None
    return replace(found, errors=(refusal, *found.errors)) if refusal else found


def embedded_refusal(recipe: Recipe) -> Finding | None:
    """Why the embedded cluster cannot run a recipe, whoever allows it; None if it can."""
    if recipe.package is not Package.SKYRL:
        return None
    return Finding(
        rule="embedded_cluster",
        fields=("cluster",),
        message=f"The embedded cluster cannot run {recipe.name}: it has no GPUs, no vLLM and no "
        "SkyRL, and this recipe needs all three",
        fix="connect a Ray cluster that has them, or render the job here and submit it yourself",
    )


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
    recipe = get(name)
    findings = validate(recipe, config)
    if not findings.ok:
        raise Invalid(f"the config does not fit {name}", problems(findings))
    return complete(recipe, config)


def complete(recipe: Recipe, config: Mapping[str, Any]) -> dict[str, Value]:
    """Full values of a config without errors, as `resolve` gives them."""
    return normal(checks.complete(recipe, config))


def import_text(text: str) -> Imported:
    """A config from a script, a command, overrides or a dump. Raises `Invalid`, `NotFound`."""
    return parsing.parse(text, get)


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
        for field in error.fields
    ]


def render(recipe: Recipe, values: Mapping[str, Value]) -> rendering.Rendered:
    """The files and the submit command of full values; see `app/recipes/render.py`."""
    return rendering.render(recipe, values)


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


def gpus_by_part(recipe: Recipe, config: Mapping[str, Any]) -> dict[str, int] | None:
    """GPUs that a run asks for, by what they are for; None where the values do not tell."""
    if checks.validate(recipe, config).errors:
        return None
    values = checks.complete(recipe, config)
    if recipe.package is Package.COMMAND:
        count = values["job.gpus"]
        return {"the command": count} if isinstance(count, int) and count else {}
    return {} if recipe.tree is None else skyrl_checks.gpus_by_part(recipe, values)


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

    A bool counts as 0 or 1; a value that is no number has number None. Nested mappings become
    dotted keys. Keys are cut at 300 characters and texts at 500.
    """
    seen: set[str] = set()
    for key, value in _leaves(values, ""):
        cut = key[:_KEY_LENGTH]
        if cut not in seen:
            seen.add(cut)
            yield cut, _number(value), _text(value)[:_FLAT_TEXT_LENGTH]


def _leaves(values: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, bool | int | float) and is_finite(value) else None
