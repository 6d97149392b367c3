"""The log of an attempt: how far it was followed, and its stored bytes."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from app.models.base import Base, IdMixin, LeaseMixin


class LogStream(IdMixin, LeaseMixin, Base):
    """How far the log of one attempt was followed.

    `read_bytes` is the offset in the job's file of the next byte to read. It moves in the same
    transaction that stores the chunk and the points found in it, with the parser's state, so that
    a kill at any instant neither repeats nor skips a byte. `n_bytes` counts the bytes stored, in
    which secrets are masked. `n_lines` counts line feeds; `has_open_line` says that bytes follow
    the last of them.
    """

    __tablename__ = "log_stream"

    attempt_id: Mapped[UUID] = mapped_column(ForeignKey("attempt.id"), unique=True)
    run_id: Mapped[UUID] = mapped_column(ForeignKey("run.id"), index=True)
    attempt_number: Mapped[int]
    read_bytes: Mapped[int] = mapped_column(BigInteger, default=0)
    n_bytes: Mapped[int] = mapped_column(BigInteger, default=0)
    n_lines: Mapped[int] = mapped_column(BigInteger, default=0)
    has_open_line: Mapped[bool] = mapped_column(default=False)
    is_complete: Mapped[bool] = mapped_column(default=False)
    parser: Mapped[dict[str, Any] | None]
    updated_at: Mapped[datetime | None]


class LogChunk(Base):
    """A stretch of a log's bytes, compressed (`app/logs/chunks.py`).

    `first_line` is the number, from 1, of the line that its first byte lies in; a line may go
    on in the next chunk.
    """

    __tablename__ = "log_chunk"

    stream_id: Mapped[UUID] = mapped_column(ForeignKey("log_stream.id"), primary_key=True)
    seq: Mapped[int] = mapped_column(primary_key=True)
    first_byte: Mapped[int] = mapped_column(BigInteger)
    n_bytes: Mapped[int]
    first_line: Mapped[int] = mapped_column(BigInteger)
    n_lines: Mapped[int]
    payload: Mapped[bytes]
