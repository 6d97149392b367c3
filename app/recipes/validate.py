"""Checks a config against its recipe before anything is asked of a cluster. Pure functions."""

import difflib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from app.recipes.model import JOB, Field, FieldType, Finding, Findings, Recipe, Value
from app.recipes.numbers import find_number, find_whole_number, is_finite
from app.recipes.texts import read_value

MOST_KEYS = 2_000
"""Of a config that is looked at. SkyRL has some 400 keys."""

_NEAREST = 3
_SEARCHES = 20
_COUNTABLE = 10**15
_KINDS = {
    FieldType.BOOL: "true or false",
    FieldType.INT: "a whole number",
    FieldType.FLOAT: "a number",
    FieldType.TEXT: "text",
    FieldType.LIST: "a list, such as ['one', 'two']",
    FieldType.DICT: "names with values, such as {name: value}",
}
_CONTAINERS = {FieldType.LIST: list, FieldType.DICT: dict}


def validate(recipe: Recipe, config: Mapping[str, Any]) -> Findings:
    """All errors and warnings of a config whose missing keys take their defaults.

    Rules over several values run only when each value by itself is right.
    """
    return look(recipe, config)[0]


def look(recipe: Recipe, config: Mapping[str, Any]) -> tuple[Findings, dict[str, Value] | None]:
    """As `validate`, with the full values; None where a value by itself is wrong."""
    if len(config) > MOST_KEYS:
        return Findings((too_many(len(config)),)), None
    errors = tuple(_each_key(recipe, config))
    if errors:
        return Findings(errors), None
    values = complete(recipe, config)
    found = Findings(
        errors=tuple(found for rule in recipe.error_rules for found in rule(values)),
        warnings=tuple(found for rule in recipe.warning_rules for found in rule(values)),
    )
    return found, values


def too_many(count: int) -> Finding:
    """What is said of a config of more than `MOST_KEYS`."""
    return Finding(
        rule="too_large",
        fields=(),
        message=f"The config has {count:,} keys, and at most {MOST_KEYS:,} are read",
        fix="give only the keys that differ from the defaults",
    )


def complete(recipe: Recipe, config: Mapping[str, Any]) -> dict[str, Value]:
    """Full values: the form's in its order, exact types, defaults where `config` says nothing.

    Keys beyond the form, where the recipe takes them, follow by name.
    """
    fields = recipe.fields()
    further = {key: config[key] for key in sorted(config) if key not in fields}
    return {
        key: exact(field, config.get(key, field.default)) for key, field in fields.items()
    } | further


def exact(field: Field, value: Any) -> Value:
    """`value` in the field's own type, since JSON does not tell 15 from 15.0."""
    if value is not None and field.type is FieldType.FLOAT:
        return float(value)
    if value is not None and field.type is FieldType.INT:
        return int(value)
    checked: Value = value
    return checked


def read_text(field: Field, text: str) -> Value:
    """What a person typed, as a value; the text itself where it is none, for `validate`."""
    # Browsers send the line breaks of a text area as two signs.
    typed = text.strip().replace("\r\n", "\n")
    if field.is_optional and typed in ("", "null"):
        return None
    found: Value = typed
    if field.type is FieldType.INT:
        found = find_whole_number(typed)
    elif field.type is FieldType.FLOAT:
        found = find_number(typed)
    elif field.type is FieldType.BOOL:
        found = {"true": True, "false": False}.get(typed.lower())
    elif field.type in _CONTAINERS:
        found = read_value(typed)
    return text if found is None else found


def _each_key(recipe: Recipe, config: Mapping[str, Any]) -> Iterator[Finding]:
    fields = recipe.fields()
    unknown: list[str] = []
    for key, value in config.items():
        field = fields.get(key)
        if field is not None:
            yield from _one(field, value)
        elif recipe.tree is None or key.startswith(JOB):
            unknown.append(key)
            if len(unknown) <= _SEARCHES:
                yield _unknown(key, list(fields))
    if further := unknown[_SEARCHES:]:
        yield _further(further)


def _unknown(key: str, known: list[str]) -> Finding:
    near = nearest(key, known)
    return Finding(
        rule="unknown_key",
        fields=(key,),
        message=f"{key} is not a key of this recipe",
        fix=f"did you mean {' or '.join(near)}?" if near else None,
    )


def _further(keys: list[str]) -> Finding:
    """A search takes long, and nobody has so many typing errors: all others at once."""
    is_one = len(keys) == 1
    words = "more key is no key" if is_one else "more keys are no keys"
    return Finding(
        rule="unknown_key",
        fields=tuple(keys),
        message=f"and {len(keys):,} {words} of this recipe",
        fix="is it a config of another recipe?",
    )


def nearest(key: str, known: list[str]) -> list[str]:
    """Up to three known keys that look like `key`: those with the same last part come first."""
    last = key.rpartition(".")[2]
    same = [name for name in known if name.rpartition(".")[2] == last]
    similar = difflib.get_close_matches(key, known, n=_NEAREST)
    return list(dict.fromkeys(same + similar))[:_NEAREST]


def _one(field: Field, value: object) -> Iterator[Finding]:
    if value is None and field.is_optional:
        return
    if not _is_of_type(field.type, value):
        yield _finding(field, "type", f"must be {_KINDS[field.type]}, not {_shown(value)}")
    elif field.choices and value not in field.choices:
        yield _finding(field, "choice", f"must be one of {', '.join(field.choices)}")
    elif isinstance(value, str):
        yield from _text(field, value)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _range(field, value)


def _is_of_type(kind: FieldType, value: object) -> bool:
    if isinstance(value, bool) or kind is FieldType.BOOL:
        return isinstance(value, bool) and kind is FieldType.BOOL
    if kind is FieldType.TEXT:
        return isinstance(value, str)
    if kind in _CONTAINERS:
        return isinstance(value, _CONTAINERS[kind])
    if not isinstance(value, int | float) or not is_finite(value):
        return False
    return kind is FieldType.FLOAT or float(value).is_integer()


def _text(field: Field, value: str) -> Iterator[Finding]:
    if len(value) > field.longest:
        yield _finding(field, "length", f"must have at most {field.longest:,} characters")
    if not field.is_multiline and not value.isprintable():
        yield _finding(field, "characters", "must be one line of printable characters")
    elif not value.replace("\n", "").replace("\t", "").isprintable():
        yield _finding(field, "characters", "must have printable characters only")


def _range(field: Field, value: float) -> Iterator[Finding]:
    given = _digits(value)
    if field.above is not None and value <= field.above:
        yield _finding(field, "range", f"must be greater than {_digits(field.above)}, not {given}")
    if field.min is not None and value < field.min:
        yield _finding(field, "range", f"must be at least {_digits(field.min)}, not {given}")
    if field.max is not None and value > field.max:
        yield _finding(field, "range", f"must be at most {_digits(field.max)}, not {given}")


def _digits(value: float) -> str:
    """A number as people write it: `10,000,000`, and `1e+20` only where nobody counts zeros."""
    is_whole = float(value).is_integer() and abs(value) < _COUNTABLE
    return f"{int(value):,}" if is_whole else f"{value:.15g}"


def _finding(field: Field, rule: str, message: str) -> Finding:
    return Finding(rule=rule, fields=(field.key,), message=f"{field.label} {message}")


def _shown(value: object) -> str:
    """A value as it is typed in YAML or JSON."""
    if value == "":
        return "empty"
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:57] + "..."
