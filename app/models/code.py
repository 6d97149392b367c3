"""Code that people uploaded for their runs: what it is, and its bytes in pieces."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey, Index, String, text
from sqlalchemy.orm import Mapped, mapped_column

from app.models.base import Base, IdMixin

_IS_COMPLETE = text("completed_at IS NOT NULL")


class CodeUpload(IdMixin, Base):
    """A zip that configs of its project name as `upload:<sha256>`; a project keeps each zip once.

    `completed_at` None: its chunks are being written, or whoever wrote them died. `uploaded_at` is
    the last time that somebody sent it. `used_at` None: no config was seen that names it, and some
    days after `uploaded_at` it goes. `root_names`: files and folders at the zip's top.
    """

    __tablename__ = "code_upload"
    __table_args__ = (
        Index(
            "uq_code_upload_project_id_sha256",
            "project_id",
            "sha256",
            unique=True,
            sqlite_where=_IS_COMPLETE,
            postgresql_where=_IS_COMPLETE,
        ),
        Index("ix_code_upload_project_id_id", "project_id", "id"),
    )

    slug: Mapped[str] = mapped_column(String(32), unique=True)
    project_id: Mapped[UUID] = mapped_column(ForeignKey("project.id"))
    sha256: Mapped[str] = mapped_column(String(64))
    name: Mapped[str] = mapped_column(String(200))
    size_bytes: Mapped[int]
    unpacked_bytes: Mapped[int]
    file_count: Mapped[int]
    root_names: Mapped[list[str]]
    created_by: Mapped[str] = mapped_column(String(200))
    created_at: Mapped[datetime]
    uploaded_at: Mapped[datetime]
    completed_at: Mapped[datetime | None]
    used_at: Mapped[datetime | None]


class CodeChunk(Base):
    """A stretch of a zip's bytes, as they were uploaded; `seq` counts from 0."""

    __tablename__ = "code_chunk"

    upload_id: Mapped[UUID] = mapped_column(ForeignKey("code_upload.id"), primary_key=True)
    seq: Mapped[int] = mapped_column(primary_key=True)
    payload: Mapped[bytes]
