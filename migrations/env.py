"""Alembic's entry: runs the migrations over a connection that `app.schema` opened."""

from alembic import context

from app.models import Base
from app.models.base import CompactUuid, UtcDateTime


def render(kind: str, item: object, _context: object) -> str | bool:
    """Migrations must not import the models: they describe the tables of their own day."""
    if kind == "type" and isinstance(item, UtcDateTime):
        return "sa.DateTime(timezone=True)"
    return "sa.Uuid()" if kind == "type" and isinstance(item, CompactUuid) else False


connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=Base.metadata,
    render_as_batch=connection.dialect.name == "sqlite",
    compare_type=True,
    transactional_ddl=True,
    render_item=render,
)
with context.begin_transaction():
    context.run_migrations()
