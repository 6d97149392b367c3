"""People, how they sign in, their sessions and API tokens. Secrets are kept as hashes only."""

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from sqlalchemy import ForeignKey, Index, String
from sqlalchemy.orm import Mapped, mapped_column

from app.models.base import Base, IdMixin, text_enum
from app.models.project import Role


class User(IdMixin, Base):
    """`is_admin`: administrator of the site, and so of every project.

    `password_hash` is argon2's own text; None: signs in by link only.
    """

    __tablename__ = "user"

    name: Mapped[str] = mapped_column(String(200), unique=True)
    is_admin: Mapped[bool] = mapped_column(default=False)
    password_hash: Mapped[str | None] = mapped_column(String(200))
    password_changed_at: Mapped[datetime | None]
    created_at: Mapped[datetime]
    disabled_at: Mapped[datetime | None]


class LinkPurpose(StrEnum):
    """`first`: makes the first administrator. `reset`: sets a new password."""

    FIRST = "first"
    SIGN_IN = "sign_in"
    RESET = "reset"


class SignInLink(IdMixin, Base):
    """A single-use secret; `user_id` is None for the first administrator only."""

    __tablename__ = "sign_in_link"

    secret_hash: Mapped[str] = mapped_column(String(64), unique=True)
    purpose: Mapped[LinkPurpose] = mapped_column(text_enum(LinkPurpose))
    user_id: Mapped[UUID | None] = mapped_column(ForeignKey("user.id"))
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    used_at: Mapped[datetime | None]


class Invite(IdMixin, Base):
    """A single-use link by which a new person makes an account, and joins a project with a role.

    Without a project the person joins none yet.
    """

    __tablename__ = "invite"

    slug: Mapped[str] = mapped_column(String(32), unique=True)
    secret_hash: Mapped[str] = mapped_column(String(64), unique=True)
    project_id: Mapped[UUID | None] = mapped_column(ForeignKey("project.id"))
    role: Mapped[Role | None] = mapped_column(text_enum(Role))
    note: Mapped[str] = mapped_column(String(200), default="")
    created_by: Mapped[str] = mapped_column(String(200))
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    used_at: Mapped[datetime | None]
    used_by_id: Mapped[UUID | None] = mapped_column(ForeignKey("user.id"))
    revoked_at: Mapped[datetime | None]


class UserSession(IdMixin, Base):
    """A browser that is signed in. `slug` names it in lists; the secret is in its cookie only."""

    __tablename__ = "user_session"

    slug: Mapped[str] = mapped_column(String(32), unique=True)
    secret_hash: Mapped[str] = mapped_column(String(64), unique=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("user.id"), index=True)
    address: Mapped[str] = mapped_column(String(64), default="")
    user_agent: Mapped[str] = mapped_column(String(300), default="")
    created_at: Mapped[datetime]
    seen_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    revoked_at: Mapped[datetime | None]


class SignInFailure(IdMixin, Base):
    """One refused password, for throttling. `name_hash` is the SHA-256 of the name as typed."""

    __tablename__ = "sign_in_failure"
    __table_args__ = (
        Index("ix_sign_in_failure_name_hash_at", "name_hash", "at"),
        Index("ix_sign_in_failure_address_at", "address", "at"),
    )

    name_hash: Mapped[str] = mapped_column(String(64))
    address: Mapped[str] = mapped_column(String(64))
    at: Mapped[datetime]


class ApiToken(IdMixin, Base):
    """A bearer token of the API. `prefix` is its readable head, shown in lists.

    It can do what its user can, up to `scope`, in one project if `project_id` is set. A token
    without a user was made on the service's own machine, and is bound by its scope alone.
    With a `run_id` it may only log to that run, as its attempt `attempt_number`.
    """

    __tablename__ = "api_token"

    slug: Mapped[str] = mapped_column(String(32), unique=True)
    name: Mapped[str] = mapped_column(String(200))
    prefix: Mapped[str] = mapped_column(String(16))
    secret_hash: Mapped[str] = mapped_column(String(64), unique=True)
    scope: Mapped[str] = mapped_column(String(32))
    user_id: Mapped[UUID | None] = mapped_column(ForeignKey("user.id"), index=True)
    project_id: Mapped[UUID | None] = mapped_column(ForeignKey("project.id"))
    run_id: Mapped[UUID | None] = mapped_column(ForeignKey("run.id"), index=True)
    attempt_number: Mapped[int | None]
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime | None]
    last_used_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]
