"""Values read from text that people type or paste. Pure functions."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import yaml

from app.recipes.numbers import is_finite

_LONGEST = 20_000
_DEEPEST = 20
_MOST = 5_000
_WIDEST = 2**30
_MOST_DIGITS = 1_000
_DIGITS = frozenset("0123456789:_.+-")
_BASE: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_BASE_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class _Loader(_BASE):  # type: ignore[misc]
    """A safe loader that takes 3e-06 for a number, as JSON and SkyRL do and YAML 1.1 does not."""


class _Dumper(_BASE_DUMPER):  # type: ignore[misc]
    """Its counterpart, which puts a text that looks like such a number in quotes."""


for _each in (_Loader, _Dumper):
    _each.add_implicit_resolver(
        "tag:yaml.org,2002:float",
        re.compile(r"[-+]?[0-9]+[eE][-+]?[0-9]+$"),
        list("-+0123456789"),
    )


class UnreadableError(ValueError):
    """Text that is no YAML, or more of it than is taken. `line` and `column` count from 1.

    `mark` is a place as PyYAML's parsers give it.
    """

    def __init__(self, reason: str, mark: Any = None) -> None:
        self.reason = reason
        self.line = mark.line + 1 if mark else 1
        self.column = mark.column + 1 if mark else 1
        place = f"line {self.line}, column {self.column}: " if mark else ""
        super().__init__(place + reason)


def read_value(text: str) -> Any:
    """The list or dict that was typed as YAML or JSON, of plain values; None if it is none."""
    try:
        found = load_yaml(text) if len(text) <= _LONGEST else None
    except ValueError:
        return None
    return found if isinstance(found, list | dict) and is_plain(found) else None


def read_any(text: str) -> Any:
    """What was typed as YAML: a number, a list, …; the text itself where it is none."""
    try:
        found = load_yaml(text) if len(text) <= _LONGEST else text
    except ValueError:
        return text
    return found if is_plain(found) and text.strip() else text


def load_yaml(text: str) -> Any:
    """The value of one YAML (or JSON) document. Raises `UnreadableError`, with the place at fault.

    Aliases are refused: a few of them can stand for more than memory holds. So are deep nesting and
    thousands of values.
    """
    with _explained():
        _look_through(text)
        return yaml.load(text, _Loader)  # noqa: S506 - a safe loader


def compose_yaml(text: str) -> yaml.Node | None:
    """The nodes of one document, with their places; None if it is empty. As `load_yaml`."""
    with _explained():
        _look_through(text)
        return yaml.compose(text, _Loader)


def construct(node: yaml.Node) -> Any:
    """The plain value of a node. Raises `UnreadableError`."""
    with _explained(node.start_mark):
        value = _Loader("").construct_object(node, deep=True)
    if not is_plain(value):
        reason = "a date, a set or a number without end is no value of a config: put it in quotes"
        raise UnreadableError(reason, node.start_mark)
    return value


def dump_line(value: Any) -> str:
    """A plain value as YAML on one line, from which `load_yaml` reads the same value."""
    text: str = yaml.dump(
        value,
        Dumper=_Dumper,
        default_flow_style=True,
        width=_WIDEST,
        allow_unicode=True,
        sort_keys=False,
    )
    return text.removesuffix("\n").removesuffix("\n...")


@contextmanager
def _explained(mark: Any = None) -> Iterator[None]:
    try:
        yield
    except UnreadableError:
        raise
    except yaml.MarkedYAMLError as error:
        raise UnreadableError(str(error.problem or error.context), error.problem_mark) from None
    except yaml.YAMLError as error:
        raise UnreadableError(" ".join(str(error).split())) from None
    except (ValueError, OverflowError, RecursionError) as error:
        # What looks like a number or a date, and is none: PyYAML lets Python's own error through.
        is_long = "digits" in str(error)
        reason = "a number has too many digits" if is_long else f"a value is none: {error}"
        raise UnreadableError(reason, mark) from None


def _look_through(text: str) -> None:
    depth = 0
    for count, event in enumerate(yaml.parse(text, _Loader)):
        if count > _MOST:
            raise UnreadableError(f"more than {_MOST:,} marks and values", event.start_mark)
        if isinstance(event, yaml.AliasEvent):
            reason = f"aliases (*{event.anchor}) are not taken"
            raise UnreadableError(reason, event.start_mark)
        if isinstance(event, yaml.ScalarEvent) and event.implicit[0] and _is_long(event.value):
            raise UnreadableError("a number has too many digits", event.start_mark)
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise UnreadableError("nested too deeply", event.start_mark)


def _is_long(text: str) -> bool:
    """Whether it is a number that nobody means: 1:30:00 is one to YAML, however long it gets."""
    return len(text) > _MOST_DIGITS and not set(text) - _DIGITS


def is_plain(value: Any) -> bool:
    """Whether JSON holds the value as it is: no dates, no sets, no infinities, text as keys."""
    if isinstance(value, dict):
        return all(isinstance(k, str) and is_plain(inner) for k, inner in value.items())
    if isinstance(value, list):
        return all(is_plain(inner) for inner in value)
    if isinstance(value, float):
        return is_finite(value)
    return value is None or isinstance(value, bool | int | str)
