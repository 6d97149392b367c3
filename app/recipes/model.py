"""What a recipe is: a versioned starting config with a typed form. Pure data."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any, TypeAlias

Value: TypeAlias = "bool | int | float | str | list[Value] | dict[str, Value] | None"
"""One config value, as JSON holds it."""

JOB = "job."
"""Keys that begin so say how the job is run; all others are the trainer's own."""

RUN_ID = "{run_id}"
"""Stands for the run's id in paths and names; the job fills it in when it runs."""


class FieldType(StrEnum):
    BOOL = "bool"
    INT = "int"
    FLOAT = "float"
    TEXT = "text"
    LIST = "list"
    DICT = "dict"


_TYPES = {
    bool: FieldType.BOOL,
    int: FieldType.INT,
    float: FieldType.FLOAT,
    str: FieldType.TEXT,
    list: FieldType.LIST,
    dict: FieldType.DICT,
}


class Package(StrEnum):
    """How a config becomes the files that a job runs; see `app/recipes/render.py`."""

    ARGUMENTS = "arguments"
    SKYRL = "skyrl"
    COMMAND = "command"


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One key of the form. `min` and `max` are allowed, `above` is not.

    `kind` is needed only where the default does not tell the type; `is_optional`: None is allowed.
    A text has at most `longest` characters; with line breaks where it `is_multiline`.
    """

    key: str
    label: str
    default: Value
    help: str
    kind: FieldType | None = None
    is_optional: bool = False
    choices: tuple[str, ...] = ()
    min: float | None = None
    max: float | None = None
    above: float | None = None
    longest: int = 500
    is_multiline: bool = False

    @property
    def type(self) -> FieldType:
        return self.kind or _TYPES[type(self.default)]


@dataclass(frozen=True, slots=True)
class Group:
    title: str
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """A place where a recipe differs on purpose from the published one that it follows.

    `theirs` is their value, or None where they do not set the key.
    """

    key: str
    theirs: Value
    reason: str


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

    @property
    def keys(self) -> set[str]:
        """What the errors are about."""
        return {key for each in self.errors for key in each.fields}

    def with_those_of_others(self, found: "Findings") -> "Findings":
        """With findings that have nothing to do with the keys of these errors."""
        keys = self.keys
        errors, warnings, notes = (
            tuple(each for each in level if keys.isdisjoint(each.fields))
            for level in (found.errors, found.warnings, found.notes)
        )
        return Findings(self.errors + errors, self.warnings + warnings, self.notes + notes)


Rule = Callable[[Mapping[str, Any]], Iterable[Finding]]
"""Looks at the full values of a config, all of the right type and in range."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A starting config: groups of typed fields, and rules over all their values.

    `needs` says in words what a run asks of its cluster; `entrypoint` is the command before the
    `key=value` arguments, as words of a shell. `is_builtin_code`: a run executes only code that
    came with Skydeck, whatever its config says. `tree` names the keys of SkyRL that are taken
    beside those of the form. `absent` is what counts for a key that a script does not name, where
    that is not the recipe's default.
    """

    name: str
    title: str
    version: int
    summary: str
    needs: str
    groups: tuple[Group, ...]
    package: Package = Package.ARGUMENTS
    is_builtin_code: bool = False
    tree: str | None = None
    follows: str = ""
    differences: tuple[Difference, ...] = ()
    absent: Mapping[str, Value] = field(default_factory=dict)
    entrypoint: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    error_rules: tuple[Rule, ...] = ()
    warning_rules: tuple[Rule, ...] = ()

    def fields(self) -> Mapping[str, Field]:
        """All fields by key, in the order of the form."""
        return self._fields

    def defaults(self) -> dict[str, Value]:
        return {key: each.default for key, each in self._fields.items()}

    @cached_property
    def _fields(self) -> dict[str, Field]:
        return {each.key: each for group in self.groups for each in group.fields}
