"""Evaluations of models on eval sets

Revision: 0010
Follows: 0009
"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "eval_set",
        sa.Column("project_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("env_id", sa.String(length=64), nullable=False),
        sa.Column("seeds", sa.JSON(), nullable=False),
        sa.Column("max_turns", sa.Integer(), nullable=False),
        sa.Column("dialect", sa.String(length=32), nullable=False),
        sa.Column("solvable_count", sa.Integer(), nullable=False),
        sa.Column("owner", sa.String(length=200), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_eval_set_project_id_project")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_eval_set")),
        sa.UniqueConstraint("project_id", "name", name=op.f("uq_eval_set_project_id_name")),
    )
    op.create_table(
        "evaluation",
        sa.Column("slug", sa.String(length=32), nullable=False),
        sa.Column("project_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("models", sa.JSON(), nullable=False),
        sa.Column("eval_set", sa.String(length=64), nullable=False),
        sa.Column("env_id", sa.String(length=64), nullable=False),
        sa.Column("seeds", sa.JSON(), nullable=False),
        sa.Column("max_turns", sa.Integer(), nullable=False),
        sa.Column("dialect", sa.String(length=32), nullable=False),
        sa.Column("solvable_count", sa.Integer(), nullable=False),
        sa.Column("temperature", sa.Double(), nullable=False),
        sa.Column("samples", sa.Integer(), nullable=False),
        sa.Column("concurrency", sa.Integer(), nullable=False),
        sa.Column(
            "status",
            sa.Enum(
                "queued",
                "running",
                "stopping",
                "stopped",
                "succeeded",
                "failed",
                name="evaluationstatus",
                native_enum=False,
                create_constraint=True,
                length=32,
            ),
            nullable=False,
        ),
        sa.Column("status_reason", sa.String(length=500), nullable=False),
        sa.Column("conditions", sa.JSON(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("owner", sa.String(length=200), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_evaluation_project_id_project")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_evaluation")),
        sa.UniqueConstraint("slug", name=op.f("uq_evaluation_slug")),
    )
    op.create_index(op.f("ix_evaluation_project_id"), "evaluation", ["project_id"])
    op.create_table(
        "evaluation_item",
        sa.Column("evaluation_id", sa.Uuid(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("model_number", sa.Integer(), nullable=False),
        sa.Column("lane", sa.Integer(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("sample", sa.Integer(), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column(
            "outcome",
            sa.Enum(
                "solved",
                "wrong_stop",
                "no_stop",
                "looped",
                "wall_bumping",
                "unparsable",
                "context_limit",
                "endpoint_error",
                "stopped",
                name="outcome",
                native_enum=False,
                create_constraint=True,
                length=32,
            ),
            nullable=True,
        ),
        sa.Column("is_solved", sa.Boolean(), nullable=True),
        sa.Column("is_passed", sa.Boolean(), nullable=True),
        sa.Column("turns", sa.Integer(), nullable=True),
        sa.Column("reward", sa.Double(), nullable=True),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("episode_id", sa.Uuid(), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("lease_token", sa.String(length=36), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["episode_id"],
            ["episode.id"],
            name=op.f("fk_evaluation_item_episode_id_episode"),
            ondelete="SET NULL",
        ),
        sa.ForeignKeyConstraint(
            ["evaluation_id"],
            ["evaluation.id"],
            name=op.f("fk_evaluation_item_evaluation_id_evaluation"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_evaluation_item")),
        sa.UniqueConstraint(
            "evaluation_id", "number", name=op.f("uq_evaluation_item_evaluation_id_number")
        ),
    )
    op.create_index(op.f("ix_evaluation_item_due_at"), "evaluation_item", ["due_at"])
    op.create_index(op.f("ix_evaluation_item_episode_id"), "evaluation_item", ["episode_id"])


def downgrade() -> None:
    op.drop_table("evaluation_item")
    op.drop_table("evaluation")
    op.drop_table("eval_set")
