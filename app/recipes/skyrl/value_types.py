"""Whether a value is of a key's type. SkyRL itself takes any value for any key.

Types are SkyRL's annotations as text: `Optional[int]`, `List[str]`, `Union[bool, int]`,
`Dict[str, Any]`, `Literal['a', 'b']`. A whole number is good for a float, a bool is no number.
"""

import ast
import math
from collections.abc import Callable, Iterator, Mapping
from functools import cache

from app.recipes.model import Finding
from app.recipes.numbers import find_number, find_whole_number
from app.recipes.skyrl.tree import Key
from app.recipes.skyrl.values import render_override, render_value

_MAX_INT = 2**63 - 1
_SHOWN = 60
# SkyRL passes these to PEFT, which takes a list of names too; its docstring says so of the first.
_ALSO_LISTS = frozenset({"target_modules", "exclude_modules"})


def check_type(key: Key, value: object) -> Finding | None:
    """A finding if the value is not of the key's type; None if it is, or if any value is."""
    text = f"Union[{key.type}, List[str]]" if key.name in _ALSO_LISTS else key.type
    if _reader(text)(value) or key.is_group:
        return None
    better = [each for each in _candidates(value) if fits(text, each)]
    return Finding(
        rule="wrong_type",
        fields=(key.key,),
        message=f"{key.key} should be {describe(key.type)}, but {_show(value)} is {_name(value)}",
        fix=f"take {render_override(key.key, better[0])}" if better else None,
        fix_values={key.key: better[0]} if better else None,
    )


def fits(type_text: str, value: object) -> bool:
    """Whether the value is of the type."""
    return _reader(type_text)(value)


def describe(type_text: str) -> str:
    """A type in words: `a whole number or null`."""
    return _words(ast.parse(type_text, mode="eval").body)


_Check = Callable[[object], bool]


@cache
def _reader(type_text: str) -> _Check:
    return _check(ast.parse(type_text, mode="eval").body)


def _check(node: ast.expr) -> _Check:
    name, parts = _split(node)
    match name:
        case "Literal":
            allowed = [ast.literal_eval(part) for part in parts]
            return lambda value: value in allowed
        case "Optional":
            inner = _check(parts[0])
            return lambda value: value is None or inner(value)
        case "Union":
            checks = [_check(part) for part in parts]
            return lambda value: any(check(value) for check in checks)
        case "List" | "list":
            each = _check(parts[0]) if parts else _is_plain
            return lambda value: isinstance(value, list) and all(each(item) for item in value)
        case "Dict" | "dict":
            return lambda value: isinstance(value, dict) and _is_plain(value)
    return _SIMPLE.get(name, _is_plain)


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _MAX_INT


def _is_float(value: object) -> bool:
    return _is_int(value) or (isinstance(value, float) and math.isfinite(value))


def _is_plain(value: object) -> bool:
    """What JSON can hold."""
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_plain(each) for key, each in value.items())
    if isinstance(value, list):
        return all(_is_plain(each) for each in value)
    return value is None or isinstance(value, bool | str) or _is_float(value)


_SIMPLE: Mapping[str, _Check] = {
    "bool": lambda value: isinstance(value, bool),
    "int": _is_int,
    "float": _is_float,
    "str": lambda value: isinstance(value, str),
    "None": lambda value: value is None,
}
_WORDS = {
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "None": "null",
    "Dict": "a dict",
    "dict": "a dict",
    "Any": "anything",
}


def _split(node: ast.expr) -> tuple[str, list[ast.expr]]:
    if isinstance(node, ast.Subscript):
        inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return ast.unparse(node.value), inner
    return ast.unparse(node), []


def _words(node: ast.expr) -> str:
    name, parts = _split(node)
    match name:
        case "Literal":
            return " or ".join(str(ast.literal_eval(part)) for part in parts)
        case "Optional":
            return f"{_words(parts[0])} or null"
        case "Union":
            return " or ".join(_words(part) for part in parts)
        case "List" | "list":
            return f"a list, each of it {_words(parts[0])}" if parts else "a list"
    return _WORDS.get(name, "a group of keys")


def _name(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int():
            return "a whole number" if _is_int(value) else "beyond 64 bits"
        case float():
            return "a number with a fraction" if math.isfinite(value) else "no finite number"
        case str():
            return "text"
        case list():
            return "a list"
        case dict():
            return "a dict"
    return f"of type {type(value).__name__}"


def _show(value: object) -> str:
    if isinstance(value, int) and not _is_int(value) and not isinstance(value, bool):
        return "this"
    try:
        text = f'"{value}"' if isinstance(value, str) else render_value(value)
    except ValueError:
        text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _candidates(value: object) -> Iterator[object]:
    """Values near one of a wrong type, likeliest first."""
    match value:
        case bool():
            yield int(value)
        case int() if value in (0, 1):
            yield bool(value)
        case float() if math.isfinite(value) and value == int(value):
            yield int(value)
        case str():
            yield from _typed(value.strip().lower())
            yield [value]
    if value is None or isinstance(value, bool | int | float):
        yield render_value(value)


def _typed(text: str) -> Iterator[object]:
    if text in ("true", "false"):
        yield text == "true"
    if text in ("none", "null"):
        yield None
    for number in (find_whole_number(text), find_number(text)):
        if number is not None:
            yield number
