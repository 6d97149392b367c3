"""The fake servers of models, and clients that may call them."""

from collections.abc import AsyncIterator, Callable

import httpx
import pytest

from app.llm.dialect import Dialect
from app.llm.limits import ChatLimits
from app.llm.openai import OpenAIChat
from app.outgoing.client import guarded_client
from tests.fakes import openai_dialects
from tests.fakes.openai_server import KEY, FakeOpenAI
from tests.outgoing.conftest import Rules

Open = Callable[..., OpenAIChat]
QUICK = ChatLimits(connect_seconds=30, idle_seconds=0.4, total_seconds=1.2)
"""For what never ends by itself."""
PATIENT = ChatLimits(connect_seconds=30, idle_seconds=60, total_seconds=120)
"""For all else: no limit is met, however busy the machine is."""


@pytest.fixture(params=list(openai_dialects.Dialect))
async def fake(request: pytest.FixtureRequest) -> AsyncIterator[FakeOpenAI]:
    """A server of each dialect in turn."""
    async with FakeOpenAI(dialect=request.param).serve() as served:
        yield served


@pytest.fixture
async def vllm() -> AsyncIterator[FakeOpenAI]:
    async with FakeOpenAI().serve() as served:
        yield served


@pytest.fixture
async def open_model() -> AsyncIterator[Open]:
    """Makes models of a fake, by a guarded client that may call loopback."""
    opened: list[OpenAIChat] = []

    def make(
        fake: FakeOpenAI,
        model: str,
        *,
        key: str | None = KEY,
        dialect: Dialect | None = None,
        limits: ChatLimits = PATIENT,
        rules: Rules | None = None,
    ) -> OpenAIChat:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        http: httpx.AsyncClient = guarded_client(
            rules or Rules("127.0.0.1"),
            base_url=fake.base_url,
            headers=headers,
            limits=limits.outgoing(),
        )
        opened.append(OpenAIChat(http, model, dialect=dialect, limits=limits))
        return opened[-1]

    yield make
    for model in opened:
        await model.aclose()
