"""From a pasted text to a config: scripts, submit commands, override lists, YAML, JSON.

Pure, and nothing of the text is ever executed. What is not understood is listed with its line.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from app.errors import Invalid, NotFound, Problem
from app.recipes.model import JOB, Recipe, Value
from app.recipes.parsing import documents, finish, script
from app.recipes.parsing.found import Found, Remark
from app.recipes.parsing.lexer import TooMuch

_LONGEST = 131_072
_MOST_LINES = 2_000
_SKYRL, _COMMAND = "visgym-sft-grpo", "command"
_OWN_HEAD = f"\n# Recipe {_COMMAND}, version "
"""In the head of `train_job.sh` as Skydeck renders it for any command."""


@dataclass(frozen=True, slots=True)
class Imported:
    """`notes` are lines of which the job package has no need; `unresolved`, not understood."""

    recipe: str
    config: dict[str, Value]
    unresolved: tuple[Remark, ...]
    notes: tuple[Remark, ...]


def parse(text: str, get_recipe: Callable[[str], Recipe]) -> Imported:
    """Reads a text. Raises `Invalid` for one that is too long, empty or no text at all."""
    _check(text)
    plain = text.removeprefix("\ufeff").replace("\r\n", "\n")
    found = Found()
    name, config = _read(plain, found, get_recipe)
    found.unresolved.sort(key=lambda remark: remark.line)
    named = {key: finish.with_run_id(value) for key, value in config.items()}
    return Imported(name, named, tuple(found.unresolved), tuple(found.notes))


def _read(
    text: str, found: Found, get_recipe: Callable[[str], Recipe]
) -> tuple[str, dict[str, Value]]:
    stripped = text.lstrip()
    try:
        listed = documents.find_list(stripped)
        document = None if listed else documents.find_document(stripped)
    except ValueError as error:
        raise _refused("syntax", f"this is no YAML or JSON: {error}") from None
    if document is not None:
        documents.list_repeats(text, found)
        name, values = documents.read_document(document, found)
        try:
            recipe = get_recipe(name or _recipe_of(values))
        except NotFound as error:
            raise _refused("recipe", error.message) from None
        return recipe.name, finish.from_values(recipe, values, found, is_ours=name is not None)
    if listed is not None:
        if len(listed) > _MOST_LINES:
            raise _refused(
                "length", f"there are {len(listed):,} overrides: SkyRL has some 400 keys"
            )
        found.overrides = listed
        return _SKYRL, finish.from_list(get_recipe(_SKYRL), found)
    found.is_own = _OWN_HEAD in text
    try:
        script.follow(text, found)
    except TooMuch as error:
        raise _refused("length", str(error)) from None
    if found.is_skyrl:
        recipe = get_recipe(_variant(found))
        return recipe.name, finish.from_script(recipe, found)
    if found.is_list or found.overrides:
        return _SKYRL, finish.from_list(get_recipe(_SKYRL), found)
    return _COMMAND, finish.from_command(get_recipe(_COMMAND), found, text)


def _variant(found: Found) -> str:
    is_instruct = found.job.get("job.env_variant") == "instruct"
    return "visgym-instruct-grpo" if is_instruct else _SKYRL


def _recipe_of(values: Mapping[str, Any]) -> str:
    is_job_only = bool(values) and all(key.startswith(JOB) for key in values)
    return _COMMAND if is_job_only else _SKYRL


def _check(text: str) -> None:
    if not text.strip():
        raise _refused("empty", "there is nothing to import")
    if len(text) > _LONGEST:
        raise _refused(
            "length",
            f"the text has {len(text):,} characters, of which at most {_LONGEST:,} are read: "
            "paste the script, the command or the config alone",
        )
    odd = next((sign for sign in text if sign < " " and sign not in "\t\n\r\x1b\f"), None)
    if odd is not None or "\ufffd" in text:
        line = text[: text.index(odd or "\ufffd")].count("\n") + 1
        raise _refused("binary", f"line {line} holds bytes that are no text: is it a binary file?")


def _refused(rule: str, message: str) -> Invalid:
    return Invalid(message, [Problem("text", rule, message)])
