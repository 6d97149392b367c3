"""Pages and API over one database, and a real browser."""

from tests.api.conftest import anyone, api, application
from tests.browser.conftest import browser, site, watch
from tests.web.conftest import (
    app,
    client,
    page_database,
    seeded,
    sqlite_database,
    stranger,
)

__all__ = [
    "anyone",
    "api",
    "app",
    "application",
    "browser",
    "client",
    "page_database",
    "seeded",
    "site",
    "sqlite_database",
    "stranger",
    "watch",
]
