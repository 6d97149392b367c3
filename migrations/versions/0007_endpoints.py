"""Endpoints that serve models

Revision: 0007
Follows: 0005
"""

revision = "0007"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    pass


def downgrade() -> None:
    pass
