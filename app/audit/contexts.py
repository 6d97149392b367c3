"""What the pages of the audit log are given."""

from dataclasses import dataclass
from datetime import datetime

from app.audit.asked import Asked
from app.web.paging import Pager


@dataclass(frozen=True, slots=True)
class Link:
    """A word and the address of the same list narrowed to it; empty where it is so already."""

    text: str
    url: str


@dataclass(frozen=True, slots=True)
class AuditRow:
    """One change, or one attempt that was denied."""

    at: datetime
    actor: Link
    actor_key: str
    address: str
    action: Link
    is_denied: bool
    object_kind: str
    object: Link
    project: str
    facts: list[tuple[str, str]]
    """(name, value) of what else is known, such as which fields changed."""
    digests: tuple[str, str] | None
    """SHA-256 before and after, each empty where there was nothing; None without both."""
    request_id: str


@dataclass(frozen=True, slots=True)
class AuditPage:
    """The audit log, newest first. `problems` by field name say why a filter was refused."""

    url: str
    project_slug: str
    """Whose log it is; empty for that of the whole site."""
    asked: Asked
    is_filtered: bool
    problems: dict[str, str]
    actions: list[str]
    outcomes: list[str]
    rows: list[AuditRow]
    pager: Pager
    csv_url: str
    jsonl_url: str
