"""The text that a config was typed as, with its comments

Revision: 0005
Follows: 0004
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("config", sa.Column("yaml", sa.Text(), nullable=True))


def downgrade() -> None:
    op.drop_column("config", "yaml")
