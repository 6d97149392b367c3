"""Pages and API over one database."""

from tests.api.conftest import anyone, api, application, shared_application
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
    "anyone",
    "api",
    "app",
    "application",
    "client",
    "page_database",
    "seeded",
    "seeded_template",
    "shared_application",
    "sqlite_database",
    "stranger",
]
