"""The application as a browser and as a program see it."""

from tests.api.conftest import admin, anyone, application

__all__ = ["admin", "anyone", "application"]
