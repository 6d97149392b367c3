"""The audit log: who changed what, from where. Written in the transaction of the change itself."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app.access.principal import Actor
from app.audit.actions import Action
from app.clock import utcnow
from app.models import AuditEntry, AuditOutcome

_NAME_LENGTH = 200


@dataclass(frozen=True, slots=True)
class Target:
    """What was changed: its kind (`run`, `project`, …), its slug or name, and its project."""

    kind: str
    slug: str
    project_id: UUID | None = None


def record(
    session: AsyncSession,
    actor: Actor,
    action: Action,
    target: Target,
    *,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
    outcome: AuditOutcome = AuditOutcome.DONE,
    details: Mapping[str, Any] | None = None,
) -> None:
    """Adds one row to the session, so that the change and its row are stored together or not.

    `before` and `after` are the object's plain fields, without secrets: their digests are stored,
    and the names of the fields that differ.
    """
    session.add(
        AuditEntry(
            at=utcnow(),
            actor=actor.name[:_NAME_LENGTH],
            actor_key=actor.key,
            address=actor.address,
            request_id=actor.request_id,
            action=action.value,
            outcome=outcome,
            object_kind=target.kind,
            object_slug=target.slug[:_NAME_LENGTH],
            project_id=target.project_id,
            before_digest=digest(before),
            after_digest=digest(after),
            details={**_changed(before, after), **(details or {})},
        )
    )


def digest(fields: Mapping[str, Any] | None) -> str | None:
    """SHA-256 of the fields as JSON with sorted keys; None for None."""
    if fields is None:
        return None
    text = json.dumps(fields, sort_keys=True, default=str, separators=(",", ":"))
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()


def _changed(
    before: Mapping[str, Any] | None, after: Mapping[str, Any] | None
) -> dict[str, list[str]]:
    if before is None or after is None:
        return {}
    keys = sorted(before.keys() | after.keys())
    return {"changed": [key for key in keys if before.get(key) != after.get(key)]}
