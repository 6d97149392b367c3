"""Endpoints

Revision: 0007
Follows: 0006
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "endpoint",
        sa.Column("slug", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("kind", _enum("endpointkind", "embedded", "openai"), nullable=False),
        sa.Column("base_url", sa.String(length=2000), nullable=False),
        sa.Column("secret_name", sa.String(length=100), nullable=True),
        sa.Column("dialect", _enum("dialect", "vllm", "ray", "other"), nullable=True),
        sa.Column(
            "status",
            _enum(
                "endpointstatus",
                *("checking", "ready", "unreachable", "unauthorized", "failed", "stopped"),
            ),
            nullable=False,
        ),
        sa.Column("status_since", sa.DateTime(timezone=True), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("models", sa.JSON(), nullable=False),
        sa.Column("latency_seconds", sa.Double(), nullable=True),
        sa.Column("failure_count", sa.Integer(), nullable=False),
        sa.Column("created_by", sa.String(length=200), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("observed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("removed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("lease_token", sa.String(length=36), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_endpoint")),
        sa.UniqueConstraint("slug", name=op.f("uq_endpoint_slug")),
    )
    op.create_index(op.f("ix_endpoint_due_at"), "endpoint", ["due_at"])
    live = sa.text("removed_at IS NULL")
    op.create_index(
        "uq_endpoint_name",
        "endpoint",
        ["name"],
        unique=True,
        sqlite_where=live,
        postgresql_where=live,
    )


def downgrade() -> None:
    op.drop_table("endpoint")


def _enum(name: str, *values: str) -> sa.Enum:
    return sa.Enum(*values, name=name, native_enum=False, create_constraint=True, length=32)
