"""A filter of the audit log as people type it: in a form, in an address, on the command line."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TypeVar
from uuid import UUID

from app.audit import times
from app.audit.actions import Action
from app.audit.filters import Filter
from app.models import AuditOutcome

E = TypeVar("E", bound=StrEnum)
_TIME = "give a time such as 2026-11-29T16:20, in UTC"


@dataclass(frozen=True, slots=True)
class Asked:
    """All parts as typed, empty where nothing is asked for, so that a refused one is kept."""

    actor: str
    action: str
    object: str
    outcome: str
    project: str
    since: str
    until: str

    def read(self, project_ids: Collection[UUID] | None) -> tuple[Filter, dict[str, str]]:
        """The filter, and by field what is wrong with it; a wrong part narrows nothing.

        `project_ids` are those that may be shown, or that `project` names.
        """
        problems: dict[str, str] = {}
        chosen = Filter.by(
            self.actor,
            action=_choice(Action, self.action, "action", problems),
            object_slug=self.object,
            outcome=_choice(AuditOutcome, self.outcome, "outcome", problems),
            since=_time(self.since, "from", problems),
            until=_time(self.until, "to", problems),
            project_ids=project_ids,
        )
        return chosen, problems


def _choice(kind: type[E], text: str, name: str, problems: dict[str, str]) -> E | None:
    if not text:
        return None
    try:
        return kind(text)
    except ValueError:
        problems[name] = f"there is no {name} {text}"
        return None


def _time(text: str, name: str, problems: dict[str, str]) -> datetime | None:
    if not text:
        return None
    try:
        return times.parse(text)
    except ValueError:
        problems[name] = _TIME
        return None
