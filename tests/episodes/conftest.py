"""The application with models of a fake server, reached without the registry of endpoints."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest
from fastapi import FastAPI
from sqlalchemy.ext.asyncio import AsyncSession

from app.episodes.deps import get_models
from app.episodes.seats import Seat
from app.llm.limits import ChatLimits
from app.llm.openai import OpenAIChat
from app.outgoing.client import guarded_client
from tests.api.conftest import admin, anyone, api, application
from tests.fakes.openai_server import KEY, FakeOpenAI
from tests.outgoing.conftest import Rules

__all__ = ["admin", "anyone", "api", "application"]
QUICK = ChatLimits(connect_seconds=30, idle_seconds=1, total_seconds=4)
"""Servers that never answer end by these; all others answer in time on a busy machine, too."""
PATIENT = ChatLimits(connect_seconds=30, idle_seconds=60, total_seconds=120)


class FakeModels:
    """A `ModelSource` whose endpoint is a fake server."""

    def __init__(self, fake: FakeOpenAI, limits: ChatLimits = QUICK) -> None:
        self._fake = fake
        self._limits = limits

    async def seat(self, _session: AsyncSession, endpoint: str, model: str) -> Seat:
        return Seat(
            endpoint=endpoint,
            endpoint_name="Fake",
            model=model,
            max_model_len=self._fake.max_model_len,
        )

    @asynccontextmanager
    async def open(self, seat: Seat) -> AsyncIterator[OpenAIChat]:
        http = guarded_client(
            Rules("127.0.0.1"),
            base_url=self._fake.base_url,
            headers={"Authorization": f"Bearer {KEY}"},
            limits=self._limits.outgoing(),
        )
        async with OpenAIChat(http, seat.model, limits=self._limits) as model:
            yield model


@pytest.fixture
async def fake() -> AsyncIterator[FakeOpenAI]:
    async with FakeOpenAI().serve() as served:
        yield served


@pytest.fixture
def served(application: FastAPI, fake: FakeOpenAI) -> Iterator[FakeOpenAI]:
    """The fake, as the models of the application's episodes."""
    application.dependency_overrides[get_models] = lambda: FakeModels(fake)
    yield fake
    del application.dependency_overrides[get_models]
