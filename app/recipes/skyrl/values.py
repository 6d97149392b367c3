"""Values written as overrides, so that SkyRL's parser reads back the same typed value.

The right side is YAML as OmegaConf reads it: a text that would be read as anything else is put in
double quotes, with a backslash before `${`, which would be an interpolation even inside quotes.
"""

import math
import re
from typing import Any

import yaml

from app.recipes.skyrl.plain import load_yaml

_PLAIN = re.compile(r"[A-Za-z0-9_/.~][A-Za-z0-9_/.~:@%+=,-]*")
# From the first backslash of a row only: from each of them, it would take the square of steps.
_INTERPOLATION = re.compile(r"(?<!\\)(\\*)\$\{")
_MISSING = re.compile(r"\\+\?\?\?")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0"}
_BITS = 4_096
_KEY = re.compile(r"[^=\s+\\][^=\\]*")
_DEPTH = 32


def render_override(key: str, value: Any) -> str:
    """`key=value` that SkyRL's parser reads as the same typed value. No shell quoting.

    `key` is dotted, as in `Parsed.values`. Values are what JSON can hold, non-finite floats, and
    dicts whose keys are text, numbers or bools. Always one line of printable characters.

    Raises `ValueError` for anything else: no override expresses it.
    """
    if not _KEY.fullmatch(key):
        raise ValueError(f"{key!r} is no key that an override can set")
    return f"{key}={render_value(value)}"


def render_value(value: Any) -> str:
    """The right side of an override. Raises `ValueError` as `render_override` does."""
    return _text(value) if isinstance(value, str) else _render(value, 0)


def _text(text: str) -> str:
    """A text at the top may stand without quotes if YAML reads it as itself."""
    if _PLAIN.fullmatch(text) and _read_yaml(text) == text:
        return text
    return _quote(text)


def _render(value: Any, depth: int) -> str:
    if depth > _DEPTH:
        raise ValueError(f"more than {_DEPTH} lists or dicts within each other")
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            if value.bit_length() > _BITS:
                raise ValueError(f"a whole number of more than {_BITS:,} bits")
            return str(value)
        case float():
            return _float(value)
        case str():
            return _quote(value)
        case list():
            return f"[{', '.join(_render(each, depth + 1) for each in value)}]"
        case dict():
            pairs = (f"{_dict_key(k)}: {_render(each, depth + 1)}" for k, each in value.items())
            return f"{{{', '.join(pairs)}}}"
    raise ValueError(f"a value of type {type(value).__name__} cannot be written as an override")


def _float(value: float) -> str:
    if math.isfinite(value):
        return repr(value)
    return ".nan" if math.isnan(value) else ".inf" if value > 0 else "-.inf"


def _dict_key(key: object) -> str:
    if isinstance(key, str):
        return _quote(key, escapes=False)
    if isinstance(key, bool | int | float):
        return _render(key, 0)
    raise ValueError(f"a dict key of type {type(key).__name__} cannot be written as an override")


def _quote(text: str, *, escapes: bool = True) -> str:
    """Double-quoted YAML. Keys of dicts are no place for interpolations, so nothing is escaped."""
    if escapes:
        text = _INTERPOLATION.sub(lambda found: found[1] * 2 + "\\${", text)
        text = "\\" + text if _MISSING.fullmatch(text) else text
    return f'"{"".join(_escape(each) for each in text)}"'


def _escape(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    if 0xD800 <= code <= 0xDFFF:
        raise ValueError("half of a surrogate pair is no text")
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _read_yaml(text: str) -> object:
    try:
        return load_yaml(text)
    except (yaml.YAMLError, ValueError):
        return None
