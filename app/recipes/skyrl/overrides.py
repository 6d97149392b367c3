"""Reads `key=value` overrides exactly as SkyRL does, and says why it would refuse them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.recipes.model import Finding
from app.recipes.skyrl.tree import KeyTree


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """What SkyRL makes of overrides.

    `values` are the settings as given, flat and typed: dotted key to value, later ones win, dicts
    of known groups and free-form dicts taken apart. `full` is the flat config after defaults and
    after what SkyRL fills in by itself; an optional group that is null is one key with None, the
    value of a free-form key is one dict. If SkyRL refuses, `full` holds what could be made out.
    `problems` are the reasons why SkyRL would refuse, empty if it accepts. `wrong_types` are values
    that SkyRL takes although they are not of the key's type, `notes` what is worth a second look.
    """

    values: dict[str, Any]
    full: dict[str, Any]
    problems: list[Finding] = field(default_factory=list)
    wrong_types: list[Finding] = field(default_factory=list)
    notes: list[Finding] = field(default_factory=list)

    @property
    def accepted(self) -> bool:
        """Whether SkyRL would build its config from them."""
        return not self.problems

    def read(self, key: str) -> Any:
        """The value of a key of `full`; of a group, a nested dict. Raises `KeyError`."""
        raise NotImplementedError


def parse_overrides(args: Sequence[str], tree: KeyTree) -> Parsed:
    """Reads a list of `key=value` texts, as SkyRL's command line is split by the shell."""
    raise NotImplementedError


def check_values(values: Mapping[str, Any], tree: KeyTree) -> Parsed:
    """As `parse_overrides` for values that are typed already; keys as in `Parsed.values`."""
    raise NotImplementedError
