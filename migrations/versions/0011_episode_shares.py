"""Links that share an episode

Revision: 0011
Follows: 0010
"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("share_link", schema=None) as batch_op:
        batch_op.alter_column("run_id", existing_type=sa.Uuid(), nullable=True)
        batch_op.add_column(sa.Column("episode_id", sa.Uuid(), nullable=True))
        batch_op.create_foreign_key(
            batch_op.f("fk_share_link_episode_id_episode"),
            "episode",
            ["episode_id"],
            ["id"],
            ondelete="CASCADE",
        )
        batch_op.create_index(batch_op.f("ix_share_link_episode_id"), ["episode_id"], unique=False)
        batch_op.create_check_constraint(
            batch_op.f("ck_share_link_is_of_one"), "(run_id IS NULL) <> (episode_id IS NULL)"
        )


def downgrade() -> None:
    # The table before knows no episodes.
    op.execute("DELETE FROM share_link WHERE run_id IS NULL")
    with op.batch_alter_table("share_link", schema=None) as batch_op:
        batch_op.drop_constraint(batch_op.f("ck_share_link_is_of_one"), type_="check")
        batch_op.drop_index(batch_op.f("ix_share_link_episode_id"))
        batch_op.drop_constraint(batch_op.f("fk_share_link_episode_id_episode"), type_="foreignkey")
        batch_op.drop_column("episode_id")
        batch_op.alter_column("run_id", existing_type=sa.Uuid(), nullable=False)
