"""Episodes and their turns

Revision: 0009
Follows: 0008
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def _words(name: str, *words: str) -> sa.Enum:
    return sa.Enum(*words, name=name, native_enum=False, create_constraint=True, length=32)


def upgrade() -> None:
    op.create_table(
        "episode",
        sa.Column("slug", sa.String(length=32), nullable=False),
        sa.Column("project_id", sa.Uuid(), nullable=False),
        sa.Column("origin", _words("episodeorigin", "playground", "evaluation"), nullable=False),
        sa.Column("env_id", sa.String(length=64), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("max_turns", sa.Integer(), nullable=False),
        sa.Column("dialect", sa.String(length=32), nullable=False),
        sa.Column("max_input_tokens", sa.Integer(), nullable=True),
        sa.Column("sampling", sa.JSON(), nullable=False),
        sa.Column("owner", sa.String(length=200), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("parent_id", sa.Uuid(), nullable=True),
        sa.Column("parent_turn", sa.Integer(), nullable=True),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(
            ["parent_id"], ["episode.id"], name=op.f("fk_episode_parent_id_episode")
        ),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_episode_project_id_project")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_episode")),
        sa.UniqueConstraint("slug", name=op.f("uq_episode_slug")),
    )
    op.create_index(op.f("ix_episode_parent_id"), "episode", ["parent_id"])
    op.create_index("ix_episode_project_id_origin_id", "episode", ["project_id", "origin", "id"])
    op.create_index("ix_episode_origin_id", "episode", ["origin", "id"])
    op.create_table(
        "episode_lane",
        sa.Column("episode_id", sa.Uuid(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("endpoint", sa.String(length=64), nullable=True),
        sa.Column("endpoint_name", sa.String(length=200), nullable=False),
        sa.Column("model", sa.String(length=300), nullable=False),
        sa.Column("max_model_len", sa.BigInteger(), nullable=True),
        sa.Column("status", _words("lanestatus", "asking", "failed", "over"), nullable=False),
        sa.Column(
            "outcome",
            _words(
                "outcome",
                "solved",
                "wrong_stop",
                "no_stop",
                "looped",
                "wall_bumping",
                "unparsable",
                "context_limit",
                "endpoint_error",
                "stopped",
            ),
            nullable=True,
        ),
        sa.Column("failure", sa.JSON(), nullable=True),
        sa.Column("turn_count", sa.Integer(), nullable=False),
        sa.Column("reward", sa.Double(), nullable=False),
        sa.Column("claim_token", sa.String(length=36), nullable=True),
        sa.Column("claim_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(
            ["episode_id"], ["episode.id"], name=op.f("fk_episode_lane_episode_id_episode")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_episode_lane")),
        sa.UniqueConstraint("episode_id", "number", name=op.f("uq_episode_lane_episode_id_number")),
    )
    op.create_table(
        "episode_turn",
        sa.Column("lane_id", sa.Uuid(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("source", _words("source", "model", "person"), nullable=False),
        sa.Column("finish_reason", sa.String(length=64), nullable=True),
        sa.Column("prompt_tokens", sa.Integer(), nullable=True),
        sa.Column("completion_tokens", sa.Integer(), nullable=True),
        sa.Column("latency_seconds", sa.Double(), nullable=True),
        sa.Column("first_token_seconds", sa.Double(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["lane_id"], ["episode_lane.id"], name=op.f("fk_episode_turn_lane_id_episode_lane")
        ),
        sa.PrimaryKeyConstraint("lane_id", "number", name=op.f("pk_episode_turn")),
    )
    op.create_table(
        "training_rollouts",
        sa.Column("evaluation_id", sa.Uuid(), nullable=False),
        sa.Column("payload", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["evaluation_id"],
            ["training_evaluation.id"],
            name=op.f("fk_training_rollouts_evaluation_id_training_evaluation"),
        ),
        sa.PrimaryKeyConstraint("evaluation_id", name=op.f("pk_training_rollouts")),
    )


def downgrade() -> None:
    for table in ("training_rollouts", "episode_turn", "episode_lane", "episode"):
        op.drop_table(table)
