from tests.api.conftest import admin, anyone, api, application

__all__ = ["admin", "anyone", "api", "application"]
