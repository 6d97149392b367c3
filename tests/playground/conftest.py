"""Pages of the playground over both databases, with models that answer from a script."""

from collections.abc import Iterator

import pytest
from fastapi import FastAPI

from app.db import Database
from app.episodes.deps import get_models
from tests.fakes.models import ScriptedModel, ScriptedModels
from tests.web.conftest import app, client, stranger

__all__ = ["app", "client", "models", "page_database", "stranger"]


@pytest.fixture
def page_database(database: Database) -> Database:
    """On both kinds."""
    return database


@pytest.fixture
def models(app: FastAPI) -> Iterator[ScriptedModels]:
    """An endpoint `fake` with one model, `walker`."""
    scripted = ScriptedModels(walker=ScriptedModel("<action>right</action>"))
    app.dependency_overrides[get_models] = lambda: scripted
    yield scripted
    del app.dependency_overrides[get_models]
