"""Values read from text that people type or paste. Pure functions."""

import re
from typing import Any

import yaml

from app.recipes.numbers import is_finite

_LONGEST = 20_000
_DEEPEST = 20
_MOST = 5_000
_BASE: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_BASE):  # type: ignore[misc]
    """A safe loader that takes 3e-06 for a number, as JSON and SkyRL do and YAML 1.1 does not."""


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?[0-9]+[eE][-+]?[0-9]+$"), list("-+0123456789")
)


def read_value(text: str) -> Any:
    """The list or dict that was typed as YAML or JSON, of plain values; None if it is none."""
    try:
        found = load_yaml(text) if len(text) <= _LONGEST else None
    except ValueError:
        return None
    return found if isinstance(found, list | dict) and is_plain(found) else None


def load_yaml(text: str) -> Any:
    """The value of one YAML (or JSON) document. Raises `ValueError`, with the line at fault.

    Aliases are refused: a few of them can stand for more than memory holds. So are deep nesting and
    thousands of values.
    """
    try:
        _look_through(text)
        return yaml.load(text, _Loader)  # noqa: S506 - a safe loader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"line {mark.line + 1}: " if mark else ""
        raise ValueError(f"{place}{error.problem or error.context}") from None
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from None


def _look_through(text: str) -> None:
    depth = 0
    for count, event in enumerate(yaml.parse(text, _Loader)):
        if count > _MOST:
            raise _Unfit(event, f"more than {_MOST:,} marks and values")
        if isinstance(event, yaml.AliasEvent):
            raise _Unfit(event, f"aliases (*{event.anchor}) are not taken")
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise _Unfit(event, "nested too deeply")


class _Unfit(ValueError):
    def __init__(self, event: yaml.Event, reason: str) -> None:
        mark = event.start_mark
        super().__init__(f"line {mark.line + 1}: {reason}" if mark else reason)


def is_plain(value: Any) -> bool:
    """Whether JSON holds the value as it is: no dates, no sets, no infinities, text as keys."""
    if isinstance(value, dict):
        return all(isinstance(k, str) and is_plain(inner) for k, inner in value.items())
    if isinstance(value, list):
        return all(is_plain(inner) for inner in value)
    if isinstance(value, float):
        return is_finite(value)
    return value is None or isinstance(value, bool | int | str)
