"""What all tables share: names of constraints, aware times, text enums, leases."""

from collections.abc import Callable
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import (
    JSON,
    BigInteger,
    DateTime,
    Dialect,
    Enum,
    Integer,
    MetaData,
    String,
    TypeDecorator,
    Uuid,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from app.ids import new_id


class UtcDateTime(TypeDecorator[datetime]):
    """An aware UTC time. SQLite keeps no zone, so it is put back on reading."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is not None and value.tzinfo is None:
            raise ValueError(f"time without a zone: {value!r}")
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class CompactUuid(Uuid[UUID]):
    """An id in 16 bytes.

    SQLite has no type for it, and the library would write 32 letters into each row and each index.
    Its columns are still declared as letters, which to SQLite is no more than a hint.
    """

    cache_ok = True

    def bind_processor(self, dialect: Dialect) -> Callable[[Any], Any] | None:
        return _bytes_of if dialect.name == "sqlite" else super().bind_processor(dialect)

    def result_processor(
        self, dialect: Dialect, coltype: object
    ) -> Callable[[Any], UUID | None] | None:
        if dialect.name == "sqlite":
            return _uuid_of
        return super().result_processor(dialect, coltype)  # type: ignore[no-untyped-call, no-any-return]

    def literal_processor(self, dialect: Dialect) -> Callable[[Any], str]:
        if dialect.name == "sqlite":
            return lambda value: f"x'{value.hex}'"
        return super().literal_processor(dialect)  # type: ignore[no-untyped-call, no-any-return]


def _bytes_of(value: UUID | None) -> bytes | None:
    return None if value is None else value.bytes


def _uuid_of(value: bytes | None) -> UUID | None:
    return None if value is None else UUID(bytes=value)


class Base(DeclarativeBase):
    """Base of all models. Ids are UUIDv7, so primary keys sort by creation."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map = {  # noqa: RUF012 - SQLAlchemy reads it as a plain class attribute
        datetime: UtcDateTime,
        UUID: CompactUuid,
        dict[str, Any]: JSON,
        list[str]: JSON,
        list[dict[str, Any]]: JSON,
    }


RowNumber = BigInteger().with_variant(Integer(), "sqlite")
"""A primary key that counts: for tables with very many small rows, and what refers to them."""


class IdMixin:
    id: Mapped[UUID] = mapped_column(primary_key=True, default=new_id)


class LeaseMixin:
    """A worker's timed claim on a row, and when the row wants to be looked at next.

    `due_at` None means: nothing left to do. See `worker/lease.py` for the only code that
    writes the other two.
    """

    due_at: Mapped[datetime | None] = mapped_column(index=True)
    lease_token: Mapped[str | None] = mapped_column(String(36))
    lease_until: Mapped[datetime | None]


def text_enum(enum: type[StrEnum]) -> Enum:
    """A column type that stores an enum's values as text under a CHECK constraint."""
    return Enum(
        enum,
        native_enum=False,
        create_constraint=True,
        length=32,
        name=enum.__name__.lower(),
        values_callable=lambda members: [member.value for member in members],
    )
