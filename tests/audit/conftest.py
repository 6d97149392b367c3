"""Pages, API and command over one database."""

from tests.api.conftest import admin, anyone, api, application
from tests.cli.conftest import home, skydeck
from tests.web.conftest import app, client, page_database, sqlite_database, stranger

__all__ = [
    "admin",
    "anyone",
    "api",
    "app",
    "application",
    "client",
    "home",
    "page_database",
    "skydeck",
    "sqlite_database",
    "stranger",
]
