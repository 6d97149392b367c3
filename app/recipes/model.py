"""What a recipe is: a versioned starting config with a typed form. Pure data."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

Value = bool | int | float | str
"""One config value, as JSON holds it."""


class FieldType(StrEnum):
    BOOL = "bool"
    INT = "int"
    FLOAT = "float"
    TEXT = "text"


_TYPES = {
    bool: FieldType.BOOL,
    int: FieldType.INT,
    float: FieldType.FLOAT,
    str: FieldType.TEXT,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One key of the form, of its default's type. `min` and `max` are allowed, `above` is not."""

    key: str
    label: str
    default: Value
    help: str
    choices: tuple[str, ...] = ()
    min: float | None = None
    max: float | None = None
    above: float | None = None

    @property
    def type(self) -> FieldType:
        return _TYPES[type(self.default)]


@dataclass(frozen=True, slots=True)
class Group:
    title: str
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that a rule found. `rule` is a stable id; `fix` says what to do about it.

    `fix_values` are values by dotted key that end the finding when put into the config.
    """

    rule: str
    fields: tuple[str, ...]
    message: str
    fix: str | None = None
    fix_values: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Findings:
    """Errors stop a launch; warnings do not; notes are worth a look and often meant so."""

    errors: tuple[Finding, ...] = ()
    warnings: tuple[Finding, ...] = ()
    notes: tuple[Finding, ...] = ()

    @property
    def ok(self) -> bool:
        return not self.errors


Rule = Callable[[Mapping[str, Value]], Iterable[Finding]]
"""Looks at the full values of a config, all of the right type and in range."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """A starting config: groups of typed fields, and rules over all their values.

    `needs` says in words what a run asks of its cluster; `entrypoint` is the command before the
    `key=value` arguments, as words of a shell.
    """

    name: str
    title: str
    version: int
    summary: str
    needs: str
    groups: tuple[Group, ...]
    entrypoint: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = ()
    error_rules: tuple[Rule, ...] = ()
    warning_rules: tuple[Rule, ...] = ()

    def fields(self) -> dict[str, Field]:
        """All fields by key, in the order of the form."""
        return {field.key: field for group in self.groups for field in group.fields}

    def defaults(self) -> dict[str, Value]:
        return {key: field.default for key, field in self.fields().items()}
