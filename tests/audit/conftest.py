"""Pages and API over one database."""

from tests.api.conftest import admin, anyone, api, application, shared_application
from tests.web.conftest import app, client, page_database, sqlite_database, stranger

__all__ = [
    "admin",
    "anyone",
    "api",
    "app",
    "application",
    "client",
    "page_database",
    "shared_application",
    "sqlite_database",
    "stranger",
]
