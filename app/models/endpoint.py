"""Endpoints: served models that everybody may talk with, as the worker last saw them."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Index, String, Text, text
from sqlalchemy.orm import Mapped, mapped_column

from app.llm.dialect import Dialect
from app.models.base import Base, IdMixin, LeaseMixin, text_enum

_LIVE = text("removed_at IS NULL")


class EndpointKind(StrEnum):
    """`embedded` is the one that `skydeck up` starts; the others were registered."""

    EMBEDDED = "embedded"
    OPENAI = "openai"


class EndpointStatus(StrEnum):
    """As last observed by the worker."""

    CHECKING = "checking"
    READY = "ready"
    UNREACHABLE = "unreachable"
    UNAUTHORIZED = "unauthorized"
    FAILED = "failed"
    STOPPED = "stopped"


class Endpoint(IdMixin, LeaseMixin, Base):
    """`models` are those of the last look that succeeded, each `{id, parent, max_model_len}`.

    `secret_name` names a secret of the site, the endpoint's key; None: it needs none. The embedded
    endpoint's address and key are read from its file in the home folder. A removed endpoint stays
    as the name in what was played on it.
    """

    __tablename__ = "endpoint"
    __table_args__ = (
        Index("uq_endpoint_name", "name", unique=True, sqlite_where=_LIVE, postgresql_where=_LIVE),
    )

    slug: Mapped[str] = mapped_column(String(32), unique=True)
    name: Mapped[str] = mapped_column(String(100))
    kind: Mapped[EndpointKind] = mapped_column(text_enum(EndpointKind))
    base_url: Mapped[str] = mapped_column(String(2_000))
    secret_name: Mapped[str | None] = mapped_column(String(100))
    dialect: Mapped[Dialect | None] = mapped_column(text_enum(Dialect))
    status: Mapped[EndpointStatus] = mapped_column(text_enum(EndpointStatus))
    status_since: Mapped[datetime]
    message: Mapped[str] = mapped_column(Text, default="")
    models: Mapped[list[dict[str, Any]]] = mapped_column(default=list)
    latency_seconds: Mapped[float | None]
    failure_count: Mapped[int] = mapped_column(default=0)
    created_by: Mapped[str] = mapped_column(String(200))
    created_at: Mapped[datetime]
    observed_at: Mapped[datetime | None]
    """When it was last looked at."""
    removed_at: Mapped[datetime | None]
