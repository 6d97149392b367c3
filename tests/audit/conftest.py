"""Pages and API over one database with some audit rows in it."""

from tests.web.conftest import (
    app,
    client,
    page_database,
    seeded,
    seeded_template,
    sqlite_database,
    stranger,
)

__all__ = [
    "app",
    "client",
    "page_database",
    "seeded",
    "seeded_template",
    "sqlite_database",
    "stranger",
]
