"""A config as YAML text that people edit: read with places, written, and changed in place.

Keys are dotted or nested, as one likes. Comments and order are the writer's own and stay as they
are when single values change. Pure functions.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from app.recipes.model import Recipe
from app.recipes.texts import UnreadableError, compose_yaml, construct, dump_line

LONGEST = 131_072
"""Characters of a text that is read."""

_RECIPE, _CONFIG = "recipe", "config"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a key stands: its line, from 1, and its signs; where its value's signs are."""

    line: int
    start: int
    value_start: int
    value_end: int


@dataclass(frozen=True, slots=True)
class Document:
    """`values` by dotted key with the `places` of the same keys; `recipe` as the text names it.

    `recipe_mark` is where it stands, as `UnreadableError` takes it.
    """

    recipe: str | None = None
    values: dict[str, Any] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict)
    recipe_mark: yaml.Mark | None = None


IsValue = Callable[[str], bool]
"""Whether a mapping at a dotted key is one value, and no group of keys."""


def read(text: str, is_value: IsValue) -> Document:
    """Raises `UnreadableError` for no YAML, for a key that stands there twice, and for too much."""
    if len(text) > LONGEST:
        raise UnreadableError(
            f"the text has {len(text):,} characters, at most {LONGEST:,} are read"
        )
    node = compose_yaml(text)
    if node is None:
        return Document()
    if not isinstance(node, yaml.MappingNode):
        raise UnreadableError("a config has keys with values, such as trainer.epochs: 20")
    recipe, mark = None, None
    document = Document()
    for key, value in node.value:
        if key.value == _RECIPE and isinstance(value, yaml.ScalarNode):
            recipe, mark = value.value, value.start_mark
        elif key.value == _CONFIG and isinstance(value, yaml.MappingNode):
            _take_all(document, "", value, is_value)
        else:
            _take(document, "", key, value, is_value)
    return Document(recipe, document.values, document.places, mark)


def write(recipe: Recipe, values: Mapping[str, Any], *, remarks: tuple[str, ...] = ()) -> str:
    """All values under the titles of their groups. `remarks` become comments at the top."""
    return "\n".join(_lines(recipe, values, remarks)) + "\n"


def change(text: str, recipe: Recipe, values: Mapping[str, Any], is_value: IsValue) -> str:
    """`text` with the values that differ from `values` put in place; written anew where the text
    cannot be read or a place cannot be changed. Keys that the text leaves out have defaults."""
    try:
        document = read(text, is_value)
        if _means(document, recipe, values):
            return text
        changed = _patched(text, document, recipe.defaults(), values)
        if _means(read(changed, is_value), recipe, values):
            return changed
    except UnreadableError:
        pass
    return write(recipe, values)


def _take_all(document: Document, prefix: str, node: yaml.MappingNode, is_value: IsValue) -> None:
    for key, value in node.value:
        _take(document, prefix, key, value, is_value)


def _take(
    document: Document, prefix: str, key: yaml.Node, value: yaml.Node, is_value: IsValue
) -> None:
    if not isinstance(key, yaml.ScalarNode):
        raise UnreadableError("a key must be a name", key.start_mark)
    path = f"{prefix}{key.value}"
    if isinstance(value, yaml.MappingNode) and value.value and not is_value(path):
        _take_all(document, f"{path}.", value, is_value)
        return
    if path in document.places:
        first = document.places[path].line
        raise UnreadableError(f"{path} stands on line {first} already", key.start_mark)
    document.values[path] = construct(value)
    document.places[path] = Place(
        line=key.start_mark.line + 1,
        start=key.start_mark.index,
        value_start=value.start_mark.index,
        value_end=value.end_mark.index,
    )


def _lines(recipe: Recipe, values: Mapping[str, Any], remarks: tuple[str, ...]) -> Iterator[str]:
    yield from (f"# {line}" for remark in remarks for line in remark.splitlines())
    yield f"# Keys that are left out take the values of {recipe.name}, version {recipe.version}."
    yield f"{_RECIPE}: {recipe.name}"
    for group in recipe.groups:
        known = [each.key for each in group.fields if each.key in values]
        if known:
            yield f"\n# {group.title}"
            yield from (_pair(key, values[key]) for key in known)
    fields = recipe.fields()
    others = [key for key in values if key not in fields]
    if others:
        yield "\n# Other keys"
        yield from (_pair(key, values[key]) for key in others)


def _pair(key: str, value: Any) -> str:
    return f"{dump_line(key)}: {dump_line(value)}"


def _means(document: Document, recipe: Recipe, values: Mapping[str, Any]) -> bool:
    defaults = recipe.defaults()
    one, other = {**defaults, **document.values}, {**defaults, **values}
    return (
        document.recipe in (None, recipe.name)
        and one.keys() == other.keys()
        and all(is_same(one[key], other[key]) for key in one)
    )


def is_same(one: Any, other: Any) -> bool:
    """Equal, and of the same kind: 1 is not true, and 15 is not 15.0."""
    return type(one) is type(other) and bool(one == other)


def _patched(
    text: str, document: Document, defaults: Mapping[str, Any], values: Mapping[str, Any]
) -> str:
    edits: list[tuple[int, int, str]] = []
    for key, place in document.places.items():
        wanted = values.get(key, defaults.get(key))
        if key not in values and key not in defaults:
            edits.append((_line_start(text, place.start), _line_end(text, place.value_end), ""))
        elif not is_same(document.values[key], wanted):
            end = _without_remarks(text, place.value_start, place.value_end)
            edits.append((place.value_start, end, dump_line(wanted)))
    for start, end, new in sorted(edits, reverse=True):
        gap = "" if start == 0 or text[start - 1].isspace() or not new else " "
        text = text[:start] + gap + new + text[end:]
    added = [
        _pair(key, value)
        for key, value in values.items()
        if key not in document.places and not (key in defaults and is_same(value, defaults[key]))
    ]
    if not added:
        return text
    return (text if text.endswith("\n") or not text else f"{text}\n") + "\n".join(added) + "\n"


def _without_remarks(text: str, start: int, end: int) -> int:
    """The end of a block value, whose own mark lies behind the comments that follow it."""
    lines = text[start:end].splitlines(keepends=True)
    while len(lines) > 1 and (not lines[-1].strip() or lines[-1].lstrip().startswith("#")):
        lines.pop()
    return start + len("".join(lines).rstrip())


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def _line_end(text: str, at: int) -> int:
    if at and text[at - 1] == "\n":
        return at
    end = text.find("\n", at)
    return len(text) if end < 0 else end + 1
