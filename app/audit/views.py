"""Builds what the pages of the audit log show, and reads what their form asks for."""

from collections.abc import Collection, Mapping
from dataclasses import asdict
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeVar
from urllib.parse import urlencode
from uuid import UUID

from app.audit import times
from app.audit.actions import Action
from app.audit.contexts import Asked, AuditRow, Link
from app.audit.filters import Filter
from app.audit.service import Row
from app.models import AuditOutcome

E = TypeVar("E", bound=StrEnum)
_TIME = "give a time such as 2026-11-29T16:20, in UTC"
_CHOICE = "choose one of the list"


def read_filter(
    asked: Asked, project_ids: Collection[UUID] | None
) -> tuple[Filter, dict[str, str]]:
    """The filter, and by field what is wrong with it; a wrong part narrows nothing."""
    problems: dict[str, str] = {}
    chosen = Filter.by(
        asked.actor,
        action=_choice(Action, asked.action, "action", problems),
        object_slug=asked.object,
        outcome=_choice(AuditOutcome, asked.outcome, "outcome", problems),
        since=_time(asked.since, "from", problems),
        until=_time(asked.until, "to", problems),
        project_ids=project_ids,
    )
    return chosen, problems


def query_of(asked: Asked, **changed: str) -> dict[str, str]:
    """The filter as the address of a page holds it; empty parts are left out."""
    typed = asdict(asked) | changed
    typed["from"], typed["to"] = typed.pop("since"), typed.pop("until")
    return {name: value for name, value in typed.items() if value}


def audit_row(row: Row, asked: Asked, url: str) -> AuditRow:
    """`url` is the page's address without its query."""
    entry, project = row
    before, after = entry.before_digest, entry.after_digest

    def link(text: str, **narrowed: str) -> Link:
        query = query_of(asked, **narrowed)
        return Link(text, "" if query == query_of(asked) else f"{url}?{urlencode(query)}")

    return AuditRow(
        at=entry.at,
        actor=link(entry.actor, actor=entry.actor_key),
        actor_key=entry.actor_key,
        address=entry.address,
        action=link(entry.action, action=entry.action),
        is_denied=entry.outcome is AuditOutcome.DENIED,
        object_kind=entry.object_kind,
        object=link(entry.object_slug, object=entry.object_slug),
        project=project or "",
        facts=[(name.replace("_", " "), _text(value)) for name, value in entry.details.items()],
        digests=(before or "", after or "") if before or after else None,
        request_id=entry.request_id,
    )


def _choice(kind: type[E], text: str, name: str, problems: dict[str, str]) -> E | None:
    if not text:
        return None
    try:
        return kind(text)
    except ValueError:
        problems[name] = _CHOICE
        return None


def _time(text: str, name: str, problems: dict[str, str]) -> datetime | None:
    if not text:
        return None
    try:
        return times.parse(text)
    except ValueError:
        problems[name] = _TIME
        return None


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_text(inner)}" for name, inner in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
