from tests.api.conftest import admin, anyone, api, application, shared_application

__all__ = ["admin", "anyone", "api", "application", "shared_application"]
