"""Sweeps; who made a config, what it was made from; changes and forks of experiments

Revision: 0003
Follows: 0002
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "sweep",
        sa.Column("slug", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("project_id", sa.Uuid(), nullable=False),
        sa.Column("experiment_id", sa.Uuid(), nullable=False),
        sa.Column("config_id", sa.Uuid(), nullable=False),
        sa.Column(
            "kind",
            sa.Enum(
                "grid",
                "random",
                "explicit",
                name="sweepkind",
                native_enum=False,
                create_constraint=True,
                length=32,
            ),
            nullable=False,
        ),
        sa.Column("space", sa.JSON(), nullable=False),
        sa.Column("keys", sa.JSON(), nullable=False),
        sa.Column("max_running_runs", sa.Integer(), nullable=False),
        sa.Column("owner", sa.String(length=200), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(
            ["config_id"], ["config.id"], name=op.f("fk_sweep_config_id_config")
        ),
        sa.ForeignKeyConstraint(
            ["experiment_id"], ["experiment.id"], name=op.f("fk_sweep_experiment_id_experiment")
        ),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_sweep_project_id_project")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sweep")),
        sa.UniqueConstraint("slug", name=op.f("uq_sweep_slug")),
    )
    op.create_index(op.f("ix_sweep_experiment_id"), "sweep", ["experiment_id"])

    # Added in place: to copy a table as SQLite's batches do, rows that refer to it would have to go.
    _add("run", _reference("sweep_id", "sweep", "fk_run_sweep_id_sweep"))
    _add("run", sa.Column("sweep_number", sa.Integer(), nullable=True))
    op.create_index(
        "uq_run_sweep_id_sweep_number", "run", ["sweep_id", "sweep_number"], unique=True
    )

    _add("experiment", sa.Column("revision", sa.Integer(), nullable=False, server_default="1"))
    _add(
        "experiment",
        _reference("forked_from_id", "experiment", "fk_experiment_forked_from_id_experiment"),
    )
    _add("experiment", sa.Column("forked_version", sa.Integer(), nullable=True))
    op.create_index(op.f("ix_experiment_forked_from_id"), "experiment", ["forked_from_id"])

    _add(
        "config", sa.Column("created_by", sa.String(length=200), nullable=False, server_default="")
    )
    _add("config", sa.Column("base_version", sa.Integer(), nullable=True))
    op.execute(
        "UPDATE config SET created_by = COALESCE("
        "(SELECT run.owner FROM run WHERE run.config_id = config.id AND config.version IS NULL), "
        "(SELECT owner FROM experiment WHERE experiment.id = config.experiment_id), '')"
    )


def _add(table: str, column: sa.Column[object]) -> None:
    op.add_column(table, column, inline_references=True)


def _reference(name: str, table: str, constraint: str) -> sa.Column[object]:
    key = sa.ForeignKey(f"{table}.id", name=op.f(constraint))
    return sa.Column(name, sa.Uuid(), key, nullable=True)
