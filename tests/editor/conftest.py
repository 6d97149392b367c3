"""A browser without JavaScript on a seeded database, as for all pages."""

from tests.web.conftest import (
    app,
    client,
    page_database,
    seeded,
    sqlite_database,
    stranger,
)

__all__ = [
    "app",
    "client",
    "page_database",
    "seeded",
    "sqlite_database",
    "stranger",
]
