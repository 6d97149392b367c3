"""Which rows of the audit log somebody wants to see. Pure."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from app.audit.actions import Action
from app.models import AuditOutcome

_KEYS = ("user:", "tok-")
_VERSION_7 = 0x7 << 76
# A row gets its id when it is stored, which is a little after the time that it bears.
_SLACK_MS = int(timedelta(hours=1).total_seconds() * 1000)
_LARGEST_MS = 2**48 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Rows must fit all that is given. `since` is included, `until` is not.

    A name may pass to somebody else, `actor_key` (`user:…` or a token's slug) does not.
    `project_ids` None: of all projects and of the site itself.
    """

    actor: str = ""
    actor_key: str = ""
    action: Action | None = None
    object_slug: str = ""
    outcome: AuditOutcome | None = None
    since: datetime | None = None
    until: datetime | None = None
    project_ids: Collection[UUID] | None = None

    @classmethod
    def by(cls, actor: str, **others: Any) -> "Filter":
        """`actor` as people type it: a name, or a key by how it begins."""
        if actor.startswith(_KEYS):
            return cls(actor_key=actor, **others)
        return cls(actor=actor, **others)

    @staticmethod
    def typed(name: str, key: str) -> str:
        """What `by` takes for whom a row names: the key, where it is one that it knows."""
        return key if key.startswith(_KEYS) else name

    @property
    def id_range(self) -> tuple[UUID | None, UUID | None]:
        """Ids between which all rows of the wanted time lie, so that no other row is read."""
        return _id_at(self.since, -_SLACK_MS), _id_at(self.until, _SLACK_MS)


def _id_at(time: datetime | None, shift_ms: int) -> UUID | None:
    """The smallest UUIDv7 of a millisecond: its time is in the first 48 bits (RFC 9562 §5.7)."""
    if time is None:
        return None
    milliseconds = min(_LARGEST_MS, max(0, int(time.timestamp() * 1000) + shift_ms))
    return UUID(int=milliseconds << 80 | _VERSION_7)
