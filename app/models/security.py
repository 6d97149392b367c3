"""Secrets, links that share a run, hosts that may be called, and the audit log."""

from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, Index, String, Text, text
from sqlalchemy.orm import Mapped, mapped_column

from app.models.base import Base, IdMixin, text_enum


class Secret(IdMixin, Base):
    """A value that configs and clusters refer to by name. `project_id` None: of the whole site.

    `ciphertext` is a Fernet token; `key_id` says which key made it.
    """

    __tablename__ = "secret"
    __table_args__ = (
        Index(
            "uq_secret_project_id_name",
            "project_id",
            "name",
            unique=True,
            sqlite_where=text("project_id IS NOT NULL"),
            postgresql_where=text("project_id IS NOT NULL"),
        ),
        Index(
            "uq_secret_site_name",
            "name",
            unique=True,
            sqlite_where=text("project_id IS NULL"),
            postgresql_where=text("project_id IS NULL"),
        ),
    )

    slug: Mapped[str] = mapped_column(String(32), unique=True)
    project_id: Mapped[UUID | None] = mapped_column(ForeignKey("project.id"))
    name: Mapped[str] = mapped_column(String(100))
    ciphertext: Mapped[str] = mapped_column(Text)
    key_id: Mapped[str] = mapped_column(String(16), index=True)
    created_by: Mapped[str] = mapped_column(String(200))
    created_at: Mapped[datetime]
    changed_at: Mapped[datetime]
    last_used_at: Mapped[datetime | None]


class ShareLink(IdMixin, Base):
    """A link by which anybody may read one run or one episode, and nothing else, until it ends."""

    __tablename__ = "share_link"
    __table_args__ = (
        CheckConstraint("(run_id IS NULL) <> (episode_id IS NULL)", name="is_of_one"),
    )

    slug: Mapped[str] = mapped_column(String(32), unique=True)
    secret_hash: Mapped[str] = mapped_column(String(64), unique=True)
    run_id: Mapped[UUID | None] = mapped_column(ForeignKey("run.id"), index=True)
    episode_id: Mapped[UUID | None] = mapped_column(
        ForeignKey("episode.id", ondelete="CASCADE"), index=True
    )
    created_by: Mapped[str] = mapped_column(String(200))
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    last_used_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]


class AllowedHost(IdMixin, Base):
    """A host that an administrator lets Skydeck call although its address is private.

    `host` is a lower-case name, `*.` and a suffix, an IP address or a network in CIDR form.
    """

    __tablename__ = "allowed_host"

    slug: Mapped[str] = mapped_column(String(32), unique=True)
    host: Mapped[str] = mapped_column(String(300), unique=True)
    reason: Mapped[str] = mapped_column(String(500), default="")
    created_by: Mapped[str] = mapped_column(String(200))
    created_at: Mapped[datetime]


class AuditOutcome(StrEnum):
    DONE = "done"
    DENIED = "denied"


class AuditEntry(IdMixin, Base):
    """Who changed what, from where. Rows are only added: triggers refuse all else.

    `before_digest` and `after_digest` are SHA-256 of the object's audited fields as sorted JSON;
    `details` names the changed fields and never holds a secret.
    """

    __tablename__ = "audit_entry"
    __table_args__ = (
        Index("ix_audit_entry_project_id_id", "project_id", "id"),
        Index("ix_audit_entry_object_slug_id", "object_slug", "id"),
        Index("ix_audit_entry_actor_id", "actor", "id"),
        Index("ix_audit_entry_actor_key_id", "actor_key", "id"),
        Index("ix_audit_entry_action_id", "action", "id"),
        Index("ix_audit_entry_outcome_id", "outcome", "id"),
    )

    at: Mapped[datetime]
    actor: Mapped[str] = mapped_column(String(200))
    actor_key: Mapped[str] = mapped_column(String(64))
    address: Mapped[str] = mapped_column(String(64))
    request_id: Mapped[str] = mapped_column(String(64))
    action: Mapped[str] = mapped_column(String(64))
    outcome: Mapped[AuditOutcome] = mapped_column(text_enum(AuditOutcome))
    object_kind: Mapped[str] = mapped_column(String(32))
    object_slug: Mapped[str] = mapped_column(String(200))
    project_id: Mapped[UUID | None] = mapped_column(ForeignKey("project.id"))
    before_digest: Mapped[str | None] = mapped_column(String(64))
    after_digest: Mapped[str | None] = mapped_column(String(64))
    details: Mapped[dict[str, Any]] = mapped_column(default=dict)
