"""Checkpoints, promotions and adapters

Revision: 0008
Follows: 0007
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "checkpoint",
        sa.Column("slug", sa.String(length=32), nullable=False),
        sa.Column("project_id", sa.Uuid(), nullable=False),
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("attempt_number", sa.Integer(), nullable=False),
        sa.Column(
            "kind",
            sa.Enum(
                "state",
                "adapter",
                name="checkpointkind",
                native_enum=False,
                create_constraint=True,
                length=32,
            ),
            nullable=False,
        ),
        sa.Column("step", sa.BigInteger(), nullable=False),
        sa.Column("path", sa.String(length=1000), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=True),
        sa.Column("is_complete", sa.Boolean(), nullable=False),
        sa.Column("problem", sa.Text(), nullable=False),
        sa.Column("saved_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("gone_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_checkpoint_project_id_project")
        ),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_checkpoint_run_id_run")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_checkpoint")),
        sa.UniqueConstraint("run_id", "kind", "step", name=op.f("uq_checkpoint_run_id_kind_step")),
        sa.UniqueConstraint("slug", name=op.f("uq_checkpoint_slug")),
    )
    op.create_index(
        "ix_checkpoint_run_id_step_id", "checkpoint", ["run_id", "step", "id"], unique=False
    )
    op.create_table(
        "checkpoint_watch",
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("lease_token", sa.String(length=36), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["run_id"], ["run.id"], name=op.f("fk_checkpoint_watch_run_id_run")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_checkpoint_watch")),
        sa.UniqueConstraint("run_id", name=op.f("uq_checkpoint_watch_run_id")),
    )
    op.create_index(
        op.f("ix_checkpoint_watch_due_at"), "checkpoint_watch", ["due_at"], unique=False
    )
    op.create_table(
        "adapter",
        sa.Column("slug", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=63), nullable=False),
        sa.Column("project_id", sa.Uuid(), nullable=False),
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("checkpoint_id", sa.Uuid(), nullable=False),
        sa.Column("attempt_number", sa.Integer(), nullable=False),
        sa.Column("step", sa.BigInteger(), nullable=False),
        sa.Column("config_id", sa.Uuid(), nullable=False),
        sa.Column("evaluation", sa.JSON(), nullable=True),
        sa.Column(
            "status",
            sa.Enum(
                "promoting",
                "ready",
                "failed",
                "deleted",
                name="adapterstatus",
                native_enum=False,
                create_constraint=True,
                length=32,
            ),
            nullable=False,
        ),
        sa.Column("destination", sa.String(length=64), nullable=False),
        sa.Column("base", sa.String(length=500), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=True),
        sa.Column("size_bytes", sa.BigInteger(), nullable=True),
        sa.Column("sha256", sa.String(length=64), nullable=True),
        sa.Column("created_by", sa.String(length=200), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ready_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(
            ["checkpoint_id"], ["checkpoint.id"], name=op.f("fk_adapter_checkpoint_id_checkpoint")
        ),
        sa.ForeignKeyConstraint(
            ["config_id"], ["config.id"], name=op.f("fk_adapter_config_id_config")
        ),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_adapter_project_id_project")
        ),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_adapter_run_id_run")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_adapter")),
        sa.UniqueConstraint("name", name=op.f("uq_adapter_name")),
        sa.UniqueConstraint("slug", name=op.f("uq_adapter_slug")),
    )
    op.create_index(op.f("ix_adapter_checkpoint_id"), "adapter", ["checkpoint_id"], unique=False)
    op.create_index("ix_adapter_project_id_id", "adapter", ["project_id", "id"], unique=False)
    op.create_index(op.f("ix_adapter_run_id"), "adapter", ["run_id"], unique=False)
    op.create_table(
        "promotion",
        sa.Column("slug", sa.String(length=32), nullable=False),
        sa.Column("project_id", sa.Uuid(), nullable=False),
        sa.Column("adapter_id", sa.Uuid(), nullable=False),
        sa.Column(
            "status",
            sa.Enum(
                "queued",
                "running",
                "succeeded",
                "failed",
                name="promotionstatus",
                native_enum=False,
                create_constraint=True,
                length=32,
            ),
            nullable=False,
        ),
        sa.Column("files", sa.JSON(), nullable=False),
        sa.Column("copied_bytes", sa.BigInteger(), nullable=False),
        sa.Column("total_bytes", sa.BigInteger(), nullable=True),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("failure", sa.JSON(), nullable=True),
        sa.Column("asked_by", sa.String(length=200), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("lease_token", sa.String(length=36), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["adapter_id"], ["adapter.id"], name=op.f("fk_promotion_adapter_id_adapter")
        ),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_promotion_project_id_project")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_promotion")),
        sa.UniqueConstraint("adapter_id", name=op.f("uq_promotion_adapter_id")),
        sa.UniqueConstraint("slug", name=op.f("uq_promotion_slug")),
    )
    op.create_index(op.f("ix_promotion_due_at"), "promotion", ["due_at"], unique=False)
    # What older runs have saved is looked for once. A run has one such row, so its id will do.
    op.execute(
        "INSERT INTO checkpoint_watch (id, run_id, revision, due_at) "
        "SELECT id, id, 0, created_at FROM run WHERE origin = 'submitted'"
    )


def downgrade() -> None:
    for table in ("promotion", "adapter", "checkpoint_watch", "checkpoint"):
        op.drop_table(table)
