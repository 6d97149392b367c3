"""Metric series in chunks of columns, and evaluations made while training."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey, Index, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from app.models.base import Base, IdMixin, RowNumber


class MetricKey(Base):
    """The name of a metric, kept once: series and their indexes hold its number."""

    __tablename__ = "metric_key"

    id: Mapped[int] = mapped_column(RowNumber, primary_key=True)
    name: Mapped[str] = mapped_column(String(500), unique=True)


class MetricSeries(Base):
    """All points of a key in a run, summed up. Tables, sorting and filters read only this.

    `count` counts what is shown: one point a step, the newest attempt's from its first step on.
    `stored_count` counts all that was ever logged and only grows: it is the live charts' cursor.
    Non-finite values are counted and kept in the points, and take no part in the other columns.
    `first_step` is the newest attempt's; from it on, older attempts are hidden.

    The newest points, `tail_count` of attempt `tail_attempt`, lie in `tail` until they fill a
    chunk: a short series is one row, and logging to many series is one statement.
    """

    __tablename__ = "metric_series"
    __table_args__ = (
        UniqueConstraint("run_id", "key_id"),
        # The best value is the largest or the smallest, as the key's direction says.
        Index("ix_metric_series_key_id_last", "key_id", "last"),
        Index("ix_metric_series_key_id_min", "key_id", "min"),
        Index("ix_metric_series_key_id_max", "key_id", "max"),
    )

    id: Mapped[int] = mapped_column(RowNumber, primary_key=True)
    run_id: Mapped[UUID] = mapped_column(ForeignKey("run.id"))
    key_id: Mapped[int] = mapped_column(ForeignKey("metric_key.id"))
    last: Mapped[float | None]
    last_step: Mapped[int | None] = mapped_column(BigInteger)
    best: Mapped[float | None]
    best_step: Mapped[int | None] = mapped_column(BigInteger)
    min: Mapped[float | None]
    max: Mapped[float | None]
    count: Mapped[int] = mapped_column(default=0)
    stored_count: Mapped[int] = mapped_column(default=0)
    non_finite: Mapped[int] = mapped_column(default=0)
    newest_attempt: Mapped[int] = mapped_column(default=1)
    first_step: Mapped[int | None] = mapped_column(BigInteger)
    chunk_count: Mapped[int] = mapped_column(default=0)
    tail_attempt: Mapped[int] = mapped_column(default=1)
    tail_count: Mapped[int] = mapped_column(default=0)
    # Last in the row, so that SQLite reads the other columns without it.
    tail: Mapped[bytes] = mapped_column(default=b"", deferred=True, deferred_raiseload=True)

    metric_key: Mapped[MetricKey] = relationship(lazy="joined", innerjoin=True)

    @property
    def key(self) -> str:
        return self.metric_key.name


class MetricChunk(Base):
    """A sealed piece of a series: points of one attempt as packed columns, up to 512 of them.

    Written once (`app/metrics/columns.py` says how). `first_index` counts the series' stored
    points before the chunk.
    """

    __tablename__ = "metric_chunk"

    series_id: Mapped[int] = mapped_column(ForeignKey("metric_series.id"), primary_key=True)
    seq: Mapped[int] = mapped_column(primary_key=True)
    attempt: Mapped[int]
    first_index: Mapped[int]
    first_step: Mapped[int] = mapped_column(BigInteger)
    last_step: Mapped[int] = mapped_column(BigInteger)
    n: Mapped[int]
    payload: Mapped[bytes]


class TrainingEvaluation(IdMixin, Base):
    """One evaluation that a run made while training, read from its dump.

    `items` are `{seed, solved, passed, turns, reward, kept}`, in the order of the eval set; a
    reward that is no finite number is None. `kept`: what was said in it is kept, too; rows of
    before lack it.
    """

    __tablename__ = "training_evaluation"
    __table_args__ = (UniqueConstraint("run_id", "attempt_number", "step"),)

    run_id: Mapped[UUID] = mapped_column(ForeignKey("run.id"))
    attempt_number: Mapped[int]
    step: Mapped[int] = mapped_column(BigInteger)
    env_id: Mapped[str] = mapped_column(String(64))
    max_turns: Mapped[int | None]
    n: Mapped[int]
    solved_count: Mapped[int]
    passed_count: Mapped[int]
    items: Mapped[list[dict[str, Any]]]
    path: Mapped[str] = mapped_column(String(1000))
    created_at: Mapped[datetime]
