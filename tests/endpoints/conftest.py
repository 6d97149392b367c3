"""The application and its API, with a key file."""

import pytest

from app.access.principal import Actor
from app.db import Database
from app.endpoints import service
from app.models import Endpoint
from tests.api.conftest import admin, anyone, api, application
from tests.secrets.conftest import key_file, vaulted

__all__ = ["admin", "anyone", "api", "application", "key_file", "vaulted"]

ADA = Actor("Ada", "user:ada")
KEY = "sk-Zx81kkLmPq-4hd8"
URL = "https://9.9.9.9/v1"


async def add(database: Database, name: str = "Ours", key: str = KEY) -> Endpoint:
    async with database.write() as session:
        return await service.register(session, ADA, name=name, base_url=URL, key=key)


@pytest.fixture
async def endpoint(vaulted: Database) -> Endpoint:
    return await add(vaulted)
