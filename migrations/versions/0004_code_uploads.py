"""Uploaded code

Revision: 0004
Follows: 0003
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "code_upload",
        sa.Column("slug", sa.String(length=32), nullable=False),
        sa.Column("project_id", sa.Uuid(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("size_bytes", sa.Integer(), nullable=False),
        sa.Column("unpacked_bytes", sa.Integer(), nullable=False),
        sa.Column("file_count", sa.Integer(), nullable=False),
        sa.Column("root_names", sa.JSON(), nullable=False),
        sa.Column("created_by", sa.String(length=200), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("uploaded_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("completed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_code_upload_project_id_project")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_code_upload")),
        sa.UniqueConstraint("slug", name=op.f("uq_code_upload_slug")),
    )
    op.create_index("ix_code_upload_project_id_id", "code_upload", ["project_id", "id"])
    op.create_index(
        "uq_code_upload_project_id_sha256",
        "code_upload",
        ["project_id", "sha256"],
        unique=True,
        sqlite_where=sa.text("completed_at IS NOT NULL"),
        postgresql_where=sa.text("completed_at IS NOT NULL"),
    )
    op.create_table(
        "code_chunk",
        sa.Column("upload_id", sa.Uuid(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("payload", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["upload_id"], ["code_upload.id"], name=op.f("fk_code_chunk_upload_id_code_upload")
        ),
        sa.PrimaryKeyConstraint("upload_id", "seq", name=op.f("pk_code_chunk")),
    )
