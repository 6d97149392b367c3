"""JSON shape of the audit log."""

from datetime import datetime
from typing import Any

from pydantic import Field

from app.api.schemas import Answer
from app.audit.service import Row
from app.models import AuditOutcome


class AuditAnswer(Answer):
    """Who did what, from where. Digests are SHA-256 of the object's fields as sorted JSON."""

    id: str = Field(examples=["0197c0de-0000-7000-8000-000000000000"])
    at: datetime
    actor: str = Field(examples=["ada"])
    actor_key: str = Field(
        description="A person or a token, whatever their name", examples=["tok-4hd8k2mz"]
    )
    address: str = Field(description="Empty for the command line", examples=["192.0.2.7"])
    request_id: str = Field(examples=["req-7fk2m9qd"])
    action: str = Field(examples=["run.stop"])
    outcome: AuditOutcome
    object_kind: str = Field(examples=["run"])
    object: str = Field(examples=["run-7fk2m9qd"])
    project: str | None = Field(description="Null for what belongs to no project")
    before_digest: str | None
    after_digest: str | None
    details: dict[str, Any]

    @classmethod
    def of(cls, row: Row) -> "AuditAnswer":
        entry, project = row
        return cls(
            id=str(entry.id),
            at=entry.at,
            actor=entry.actor,
            actor_key=entry.actor_key,
            address=entry.address,
            request_id=entry.request_id,
            action=entry.action,
            outcome=entry.outcome,
            object_kind=entry.object_kind,
            object=entry.object_slug,
            project=project,
            before_digest=entry.before_digest,
            after_digest=entry.after_digest,
            details=entry.details,
        )
