"""Accounts, members, secrets, shared links, hosts that may be called, and the audit log

Revision: 0002
Follows: 0001
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_MESSAGE = "the audit log is append-only"
_APPEND_ONLY = {
    "sqlite": [
        f"CREATE TRIGGER audit_entry_no_{action} BEFORE {action} ON audit_entry "
        f"BEGIN SELECT RAISE(ABORT, '{_MESSAGE}'); END"
        for action in ("update", "delete")
    ],
    "postgresql": [
        "CREATE FUNCTION audit_entry_refuse() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{_MESSAGE}'; END $$",
        "CREATE TRIGGER audit_entry_no_change BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_entry "
        "FOR EACH STATEMENT EXECUTE FUNCTION audit_entry_refuse()",
    ],
}


def upgrade() -> None:
    op.create_table(
        "allowed_host",
        sa.Column("slug", sa.String(length=32), nullable=False),
        sa.Column("host", sa.String(length=300), nullable=False),
        sa.Column("reason", sa.String(length=500), nullable=False),
        sa.Column("created_by", sa.String(length=200), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_allowed_host")),
        sa.UniqueConstraint("host", name=op.f("uq_allowed_host_host")),
        sa.UniqueConstraint("slug", name=op.f("uq_allowed_host_slug")),
    )
    op.create_table(
        "sign_in_failure",
        sa.Column("name_hash", sa.String(length=64), nullable=False),
        sa.Column("address", sa.String(length=64), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sign_in_failure")),
    )
    with op.batch_alter_table("sign_in_failure", schema=None) as batch_op:
        batch_op.create_index("ix_sign_in_failure_address_at", ["address", "at"], unique=False)
        batch_op.create_index("ix_sign_in_failure_name_hash_at", ["name_hash", "at"], unique=False)

    op.create_table(
        "audit_entry",
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("actor", sa.String(length=200), nullable=False),
        sa.Column("actor_key", sa.String(length=64), nullable=False),
        sa.Column("address", sa.String(length=64), nullable=False),
        sa.Column("request_id", sa.String(length=64), nullable=False),
        sa.Column("action", sa.String(length=64), nullable=False),
        sa.Column(
            "outcome",
            sa.Enum(
                "done",
                "denied",
                name="auditoutcome",
                native_enum=False,
                create_constraint=True,
                length=32,
            ),
            nullable=False,
        ),
        sa.Column("object_kind", sa.String(length=32), nullable=False),
        sa.Column("object_slug", sa.String(length=200), nullable=False),
        sa.Column("project_id", sa.Uuid(), nullable=True),
        sa.Column("before_digest", sa.String(length=64), nullable=True),
        sa.Column("after_digest", sa.String(length=64), nullable=True),
        sa.Column("details", sa.JSON(), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_audit_entry_project_id_project")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_entry")),
    )
    with op.batch_alter_table("audit_entry", schema=None) as batch_op:
        batch_op.create_index("ix_audit_entry_action_id", ["action", "id"], unique=False)
        batch_op.create_index("ix_audit_entry_actor_id", ["actor", "id"], unique=False)
        batch_op.create_index("ix_audit_entry_actor_key_id", ["actor_key", "id"], unique=False)
        batch_op.create_index("ix_audit_entry_outcome_id", ["outcome", "id"], unique=False)
        batch_op.create_index("ix_audit_entry_object_slug_id", ["object_slug", "id"], unique=False)
        batch_op.create_index("ix_audit_entry_project_id_id", ["project_id", "id"], unique=False)

    op.create_table(
        "invite",
        sa.Column("slug", sa.String(length=32), nullable=False),
        sa.Column("secret_hash", sa.String(length=64), nullable=False),
        sa.Column("project_id", sa.Uuid(), nullable=True),
        sa.Column(
            "role",
            sa.Enum(
                "viewer",
                "member",
                "administrator",
                name="role",
                native_enum=False,
                create_constraint=True,
                length=32,
            ),
            nullable=True,
        ),
        sa.Column("note", sa.String(length=200), nullable=False),
        sa.Column("created_by", sa.String(length=200), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("used_by_id", sa.Uuid(), nullable=True),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_invite_project_id_project")
        ),
        sa.ForeignKeyConstraint(
            ["used_by_id"], ["user.id"], name=op.f("fk_invite_used_by_id_user")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_invite")),
        sa.UniqueConstraint("secret_hash", name=op.f("uq_invite_secret_hash")),
        sa.UniqueConstraint("slug", name=op.f("uq_invite_slug")),
    )
    op.create_table(
        "project_member",
        sa.Column("project_id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column(
            "role",
            sa.Enum(
                "viewer",
                "member",
                "administrator",
                name="role",
                native_enum=False,
                create_constraint=True,
                length=32,
            ),
            nullable=False,
        ),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_project_member_project_id_project")
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user.id"], name=op.f("fk_project_member_user_id_user")
        ),
        sa.PrimaryKeyConstraint("project_id", "user_id", name=op.f("pk_project_member")),
    )
    with op.batch_alter_table("project_member", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_project_member_user_id"), ["user_id"], unique=False)

    op.create_table(
        "secret",
        sa.Column("slug", sa.String(length=32), nullable=False),
        sa.Column("project_id", sa.Uuid(), nullable=True),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("ciphertext", sa.Text(), nullable=False),
        sa.Column("key_id", sa.String(length=16), nullable=False),
        sa.Column("created_by", sa.String(length=200), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_secret_project_id_project")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_secret")),
        sa.UniqueConstraint("slug", name=op.f("uq_secret_slug")),
    )
    with op.batch_alter_table("secret", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_secret_key_id"), ["key_id"], unique=False)
        batch_op.create_index(
            "uq_secret_project_id_name",
            ["project_id", "name"],
            unique=True,
            sqlite_where=sa.text("project_id IS NOT NULL"),
            postgresql_where=sa.text("project_id IS NOT NULL"),
        )
        batch_op.create_index(
            "uq_secret_site_name",
            ["name"],
            unique=True,
            sqlite_where=sa.text("project_id IS NULL"),
            postgresql_where=sa.text("project_id IS NULL"),
        )

    op.create_table(
        "share_link",
        sa.Column("slug", sa.String(length=32), nullable=False),
        sa.Column("secret_hash", sa.String(length=64), nullable=False),
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("created_by", sa.String(length=200), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_share_link_run_id_run")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_share_link")),
        sa.UniqueConstraint("secret_hash", name=op.f("uq_share_link_secret_hash")),
        sa.UniqueConstraint("slug", name=op.f("uq_share_link_slug")),
    )
    with op.batch_alter_table("share_link", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_share_link_run_id"), ["run_id"], unique=False)

    with op.batch_alter_table("api_token", schema=None) as batch_op:
        batch_op.add_column(sa.Column("project_id", sa.Uuid(), nullable=True))
        batch_op.create_index(batch_op.f("ix_api_token_user_id"), ["user_id"], unique=False)
        batch_op.create_foreign_key(
            batch_op.f("fk_api_token_project_id_project"), "project", ["project_id"], ["id"]
        )

    with op.batch_alter_table("cluster", schema=None) as batch_op:
        batch_op.add_column(
            sa.Column("runs_member_code", sa.Boolean(), nullable=False, server_default="0")
        )
        batch_op.add_column(
            sa.Column("shows_secrets", sa.Boolean(), nullable=False, server_default="0")
        )

    with op.batch_alter_table("log_stream", schema=None) as batch_op:
        batch_op.add_column(
            sa.Column("read_bytes", sa.BigInteger(), nullable=False, server_default="0")
        )
    op.execute("UPDATE log_stream SET read_bytes = n_bytes")

    # Both gain columns that old rows have no value for; people sign in again.
    op.execute("DELETE FROM sign_in_link")
    op.execute("DELETE FROM user_session")
    with op.batch_alter_table("sign_in_link", schema=None) as batch_op:
        batch_op.add_column(
            sa.Column(
                "purpose",
                sa.Enum(
                    "first",
                    "sign_in",
                    "reset",
                    name="linkpurpose",
                    native_enum=False,
                    create_constraint=True,
                    length=32,
                ),
                nullable=False,
            )
        )

    with op.batch_alter_table("user", schema=None) as batch_op:
        batch_op.add_column(sa.Column("password_hash", sa.String(length=200), nullable=True))
        batch_op.add_column(
            sa.Column("password_changed_at", sa.DateTime(timezone=True), nullable=True)
        )

    with op.batch_alter_table("user_session", schema=None) as batch_op:
        batch_op.add_column(sa.Column("slug", sa.String(length=32), nullable=False))
        batch_op.add_column(sa.Column("address", sa.String(length=64), nullable=False))
        batch_op.add_column(sa.Column("user_agent", sa.String(length=300), nullable=False))
        batch_op.add_column(sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False))
        batch_op.create_unique_constraint(batch_op.f("uq_user_session_slug"), ["slug"])

    for statement in _APPEND_ONLY[op.get_bind().dialect.name]:
        op.execute(statement)
