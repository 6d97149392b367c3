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

    `is_list`: overrides stand there as if they were a command, be they right or wrong.

    `faults` are those of the unresolved lines that no shell could read. `is_plain`: the text holds
    variables for all its commands, installations and one program, and nothing else; `has_commands`:
    it runs anything at all. `is_own`: our own script of any command. `submitted`: what a
    `ray job submit` hands over, with the `handed` programs in it, after `setup_before` set-up
    commands.
    """

    overrides: list[tuple[int, str]] = field(default_factory=list)
    job: dict[str, Any] = field(default_factory=dict)
    programs: list[tuple[int, str]] = field(default_factory=list)
    unresolved: list[Remark] = field(default_factory=list)
    notes: list[Remark] = field(default_factory=list)
    faults: list[Remark] = field(default_factory=list)
    submitted: str = ""
    handed: list[tuple[int, str]] = field(default_factory=list)
    setup_before: int = 0
    is_skyrl: bool = False
    is_list: bool = False
    is_plain: bool = True
    is_own: bool = False
    has_commands: bool = False

    def miss(self, line: int, text: str, reason: str) -> None:
        """Lists a line as not understood; after hundreds of them, that there are more."""
        if len(self.unresolved) < _MOST:
            self.unresolved.append(Remark(line, _short(text), reason))
        elif len(self.unresolved) == _MOST:
            self.unresolved.append(Remark(line, _short(text), "and all that follows"))

    def fault(self, line: int, text: str, reason: str) -> None:
        """Lists a line that no shell could read."""
        self.miss(line, text, reason)
        if len(self.faults) < _MOST:
            self.faults.append(Remark(line, _short(text), reason))

    def note(self, line: int, text: str, reason: str) -> None:
        if len(self.notes) < _MOST:
            self.notes.append(Remark(line, _short(text), reason))


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
