"""Builds what the pages of the audit log show."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any
from urllib.parse import urlencode

from app.audit.asked import Asked
from app.audit.contexts import AuditRow, Link
from app.audit.filters import Filter
from app.audit.service import Row
from app.models import AuditOutcome


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
        actor=link(entry.actor, actor=Filter.typed(entry.actor, entry.actor_key)),
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


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_text(inner)}" for name, inner in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
