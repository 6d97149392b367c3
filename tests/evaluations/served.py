"""Models of a server on this machine, without a registry of endpoints."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sqlalchemy.ext.asyncio import AsyncSession

from app.episodes.seats import Seat
from app.llm.chat import ChatModel
from app.llm.connect import connect
from app.llm.openai import OpenAIChat


class ServedModels:
    """A `ModelSource` of one server; any model it has."""

    def __init__(self, base_url: str, key: str | None) -> None:
        self._base_url = base_url
        self._key = key

    async def seat(self, _session: AsyncSession, endpoint: str, model: str) -> Seat:
        return Seat(endpoint=endpoint, endpoint_name="Served", model=model)

    @asynccontextmanager
    async def open(self, seat: Seat) -> AsyncIterator[ChatModel]:
        http = connect(self._base_url, self._key, rules=None)
        async with OpenAIChat(http, seat.model) as model:
            yield model
