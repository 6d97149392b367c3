"""What was understood of a text, and what was not."""

from dataclasses import dataclass, field
from typing import Any

_LONGEST = 300
_MOST = 500


@dataclass(frozen=True, slots=True)
class Remark:
    """A line of the text with what is to be said of it. `line` counts from 1."""

    line: int
    text: str
    reason: str


@dataclass(slots=True)
class Found:
    """Everything that a text says, before it becomes a config.

    `overrides` are SkyRL's `key=value` arguments with their lines. `notes` are lines that the job
    package has no need of; `unresolved` are lines that were not understood. `programs` are
    commands that are not known here, which a config for any command may run.
    """

    overrides: list[tuple[int, str]] = field(default_factory=list)
    job: dict[str, Any] = field(default_factory=dict)
    programs: list[tuple[int, str]] = field(default_factory=list)
    unresolved: list[Remark] = field(default_factory=list)
    notes: list[Remark] = field(default_factory=list)
    is_skyrl: bool = False

    def miss(self, line: int, text: str, reason: str) -> None:
        """Lists a line as not understood; after hundreds of them, that there are more."""
        if len(self.unresolved) < _MOST:
            self.unresolved.append(Remark(line, _short(text), reason))
        elif len(self.unresolved) == _MOST:
            self.unresolved.append(Remark(line, _short(text), "and all that follows"))

    def note(self, line: int, text: str, reason: str) -> None:
        if len(self.notes) < _MOST:
            self.notes.append(Remark(line, _short(text), reason))


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
