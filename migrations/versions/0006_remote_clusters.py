"""Clusters that people register, their credentials, and checks of their connection

Revision: 0006
Follows: 0005
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_KINDS = "kind IN ('embedded', 'http', 'hyperpod')"
_CREDENTIALS = "credential IN ('none', 'token', 'aws', 'kubeconfig')"


def upgrade() -> None:
    columns = (
        sa.Column("credential", sa.String(length=32), nullable=False, server_default="none"),
        sa.Column("access", sa.JSON(), nullable=False, server_default="{}"),
        sa.Column("secret_name", sa.String(length=100), nullable=True),
        sa.Column("removed_at", sa.DateTime(timezone=True), nullable=True),
    )
    # On SQLite a batch makes the table anew: it changes no constraint in place.
    with op.batch_alter_table("cluster") as batch:
        for column in columns:
            batch.add_column(column)
        batch.drop_constraint(op.f("ck_cluster_clusterkind"), type_="check")
        batch.create_check_constraint(op.f("ck_cluster_clusterkind"), _KINDS)
        batch.create_check_constraint(op.f("ck_cluster_credentialkind"), _CREDENTIALS)

    op.create_table(
        "cluster_check",
        sa.Column("slug", sa.String(length=32), nullable=False),
        sa.Column("cluster_id", sa.Uuid(), nullable=False),
        sa.Column(
            "status",
            sa.Enum(
                "queued",
                "done",
                name="checkstatus",
                native_enum=False,
                create_constraint=True,
                length=32,
            ),
            nullable=False,
        ),
        sa.Column("findings", sa.JSON(), nullable=False),
        sa.Column("asked_by", sa.String(length=200), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("lease_token", sa.String(length=36), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["cluster_id"], ["cluster.id"], name=op.f("fk_cluster_check_cluster_id_cluster")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_cluster_check")),
        sa.UniqueConstraint("slug", name=op.f("uq_cluster_check_slug")),
    )
    op.create_index(op.f("ix_cluster_check_cluster_id"), "cluster_check", ["cluster_id"])
    op.create_index(op.f("ix_cluster_check_due_at"), "cluster_check", ["due_at"])
