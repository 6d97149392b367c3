"""Short names and numbers for series and config values, tags, saved views, tokens of one run

Revision: 0012
Follows: 0011
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

_KEPT = (
    "run_id",
    "last",
    "last_step",
    "best",
    "best_step",
    "min",
    "max",
    "count",
    "stored_count",
    "non_finite",
    "newest_attempt",
)
# How SQLite says the type of ids; tables have no other columns of that type.
_AN_ID = "CHAR(32)"
_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    for table in ("metric_chunk", "metric_series", "config_value"):
        op.execute(f"CREATE TABLE old_{table} AS SELECT * FROM {table}")  # noqa: S608
        op.drop_table(table)
    _create_keys("metric_key", 500)
    _create_keys("config_key", 300)
    _create_series()
    _create_config_values()
    _move_series()
    _move_config_values()
    for table in ("metric_chunk", "metric_series", "config_value"):
        op.drop_table(f"old_{table}")
    _index_series()
    _create_table_of_runs()
    _create_tracking()
    if _is_sqlite():
        _shorten_ids()


def _create_keys(table: str, length: int) -> None:
    op.create_table(
        table,
        sa.Column("id", _NUMBER, nullable=False),
        sa.Column("name", sa.String(length=length), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f(f"pk_{table}")),
        sa.UniqueConstraint("name", name=op.f(f"uq_{table}_name")),
    )


def _create_series() -> None:
    op.create_table(
        "metric_series",
        sa.Column("id", _NUMBER, nullable=False),
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("key_id", _NUMBER, nullable=False),
        sa.Column("last", sa.Double(), nullable=True),
        sa.Column("last_step", sa.BigInteger(), nullable=True),
        sa.Column("best", sa.Double(), nullable=True),
        sa.Column("best_step", sa.BigInteger(), nullable=True),
        sa.Column("min", sa.Double(), nullable=True),
        sa.Column("max", sa.Double(), nullable=True),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("stored_count", sa.Integer(), nullable=False),
        sa.Column("non_finite", sa.Integer(), nullable=False),
        sa.Column("newest_attempt", sa.Integer(), nullable=False),
        sa.Column("first_step", sa.BigInteger(), nullable=True),
        sa.Column("chunk_count", sa.Integer(), nullable=False),
        sa.Column("tail_attempt", sa.Integer(), nullable=False),
        sa.Column("tail_count", sa.Integer(), nullable=False),
        sa.Column("tail", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_metric_series_run_id_run")),
        sa.ForeignKeyConstraint(
            ["key_id"], ["metric_key.id"], name=op.f("fk_metric_series_key_id_metric_key")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_metric_series")),
        sa.UniqueConstraint("run_id", "key_id", name=op.f("uq_metric_series_run_id_key_id")),
    )
    op.create_table(
        "metric_chunk",
        sa.Column("series_id", _NUMBER, nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("first_index", sa.Integer(), nullable=False),
        sa.Column("first_step", sa.BigInteger(), nullable=False),
        sa.Column("last_step", sa.BigInteger(), nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("payload", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["series_id"],
            ["metric_series.id"],
            name=op.f("fk_metric_chunk_series_id_metric_series"),
        ),
        sa.PrimaryKeyConstraint("series_id", "seq", name=op.f("pk_metric_chunk")),
    )


def _create_config_values() -> None:
    op.create_table(
        "config_value",
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("key_id", _NUMBER, nullable=False),
        sa.Column("number", sa.Double(), nullable=True),
        sa.Column("text", sa.String(length=500), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_config_value_run_id_run")),
        sa.ForeignKeyConstraint(
            ["key_id"], ["config_key.id"], name=op.f("fk_config_value_key_id_config_key")
        ),
        sa.PrimaryKeyConstraint("run_id", "key_id", name=op.f("pk_config_value")),
        sqlite_with_rowid=False,
    )


def _move_series() -> None:
    """What was the newest chunk of a series stays a chunk, sealed early."""
    op.execute("INSERT INTO metric_key (name) SELECT DISTINCT key FROM old_metric_series")
    chunks = "SELECT {} FROM old_metric_chunk c WHERE c.series_id = s.id"
    count = chunks.format("COALESCE(MAX(c.seq) + 1, 0)")
    first = chunks.format("MIN(c.first_step)") + " AND c.attempt = s.newest_attempt"
    kept = ", ".join(f"s.{name}" for name in _KEPT)
    op.execute(
        f"INSERT INTO metric_series ({kept.replace('s.', '')}, key_id, first_step, chunk_count, "  # noqa: S608
        "tail_attempt, tail_count, tail) "
        f"SELECT {kept}, k.id, ({first}), ({count}), s.newest_attempt, 0, {_no_bytes()} "
        "FROM old_metric_series s JOIN metric_key k ON k.name = s.key ORDER BY s.id"
    )
    op.execute(
        "INSERT INTO metric_chunk (series_id, seq, attempt, first_index, first_step, last_step, "
        "n, payload) SELECT s.id, c.seq, c.attempt, c.first_index, c.first_step, c.last_step, "
        "c.n, c.payload FROM old_metric_chunk c JOIN old_metric_series o ON o.id = c.series_id "
        "JOIN metric_key k ON k.name = o.key "
        "JOIN metric_series s ON s.run_id = o.run_id AND s.key_id = k.id"
    )


def _move_config_values() -> None:
    op.execute("INSERT INTO config_key (name) SELECT DISTINCT key FROM old_config_value")
    # A number says all of itself, but not that it was written true or false, or is a large one.
    text = "CASE WHEN v.number IS NULL OR v.text IN ('true', 'false') "
    text += "OR ABS(v.number) > 9007199254740992 THEN v.text ELSE '' END"
    op.execute(
        "INSERT INTO config_value (run_id, key_id, number, text) "  # noqa: S608
        f"SELECT v.run_id, k.id, v.number, {text} "
        "FROM old_config_value v JOIN config_key k ON k.name = v.key"
    )


def _index_series() -> None:
    for statistic in ("last", "min", "max"):
        op.create_index(
            f"ix_metric_series_key_id_{statistic}", "metric_series", ["key_id", statistic]
        )
    for column, where in (("number", "number IS NOT NULL"), ("text", "text <> ''")):
        op.create_index(
            f"ix_config_value_key_id_{column}",
            "config_value",
            ["key_id", column, "run_id"],
            sqlite_where=sa.text(where),
            postgresql_where=sa.text(where),
        )


def _create_table_of_runs() -> None:
    op.create_table(
        "run_tag",
        sa.Column("tag", sa.String(length=200), nullable=False),
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_run_tag_run_id_run")),
        sa.PrimaryKeyConstraint("tag", "run_id", name=op.f("pk_run_tag")),
        sqlite_with_rowid=False,
    )
    op.create_index(op.f("ix_run_tag_run_id"), "run_tag", ["run_id"])
    _move_tags()
    for column in ("pinned_at", "archived_at"):
        _add("run", sa.Column(column, sa.DateTime(timezone=True), nullable=True))
    is_pinned = sa.text("pinned_at IS NOT NULL")
    op.create_index(
        "ix_run_pinned_at",
        "run",
        ["pinned_at"],
        sqlite_where=is_pinned,
        postgresql_where=is_pinned,
    )
    for column in ("name", "started_at", "ended_at", "status"):
        op.create_index(op.f(f"ix_run_{column}"), "run", [column])
    op.create_table(
        "saved_view",
        sa.Column("slug", sa.String(length=32), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("query", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_saved_view_user_id_user")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_saved_view")),
        sa.UniqueConstraint("slug", name=op.f("uq_saved_view_slug")),
        sa.UniqueConstraint("user_id", "name", name=op.f("uq_saved_view_user_id_name")),
    )


def _move_tags() -> None:
    items = "json_each(run.tags) AS tag"
    condition = "json_type(run.tags) = 'array'"
    if not _is_sqlite():
        # A subquery keeps what is no list from the function, which would refuse it.
        items = "json_array_elements_text(CASE WHEN json_typeof(run.tags) = 'array' "
        items += "THEN run.tags ELSE '[]'::json END) AS tag(value)"
        condition = "true"
    op.execute(
        "INSERT INTO run_tag (tag, run_id) SELECT DISTINCT tag.value, run.id "  # noqa: S608
        f"FROM run, {items} WHERE {condition}"
    )


def _create_tracking() -> None:
    op.create_table(
        "tracking_entry",
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.String(length=8), nullable=False),
        sa.Column("key", sa.String(length=500), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_tracking_entry_run_id_run")),
        sa.PrimaryKeyConstraint("run_id", "kind", "key", name=op.f("pk_tracking_entry")),
    )
    key = sa.ForeignKey("run.id", name=op.f("fk_api_token_run_id_run"))
    _add("api_token", sa.Column("run_id", sa.Uuid(), key, nullable=True))
    _add("api_token", sa.Column("attempt_number", sa.Integer(), nullable=True))
    op.create_index(op.f("ix_api_token_run_id"), "api_token", ["run_id"])


def _shorten_ids() -> None:
    """Ids of 32 letters become 16 bytes, in all tables, keys and references alike."""
    bind = op.get_bind()
    driver: Any = bind.connection.dbapi_connection
    driver.create_function("short_id", 1, _short_id, deterministic=True)
    for table in sa.inspect(bind).get_table_names():
        columns = bind.exec_driver_sql(f'PRAGMA table_info("{table}")').all()
        names = [row[1] for row in columns if row[2] == _AN_ID]
        if names:
            values = ", ".join(f'"{name}" = short_id("{name}")' for name in names)
            op.execute(f'UPDATE "{table}" SET {values}')  # noqa: S608


def _short_id(value: str | None) -> str | bytes | None:
    """What is no id stays, and is found where references are checked."""
    try:
        return None if value is None else bytes.fromhex(value)
    except ValueError:
        return value


def _add(table: str, column: sa.Column[object]) -> None:
    op.add_column(table, column, inline_references=True)


def _is_sqlite() -> bool:
    return op.get_bind().dialect.name == "sqlite"


def _no_bytes() -> str:
    return "x''" if _is_sqlite() else "''::bytea"
