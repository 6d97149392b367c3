"""The models of registered endpoints, as lanes need them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sqlalchemy.ext.asyncio import AsyncSession

from app.db import Database
from app.episodes.seats import Seat
from app.errors import NotFound
from app.llm.chat import ChatModel
from app.settings import Settings


class EndpointModels:
    """A `ModelSource` over the endpoints in the database."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self._database = database
        self._settings = settings

    async def seat(self, session: AsyncSession, endpoint: str, model: str) -> Seat:
        """See `ModelSource`."""
        raise NotFound(f"there is no endpoint {endpoint}")

    @asynccontextmanager
    async def open(self, seat: Seat) -> AsyncIterator[ChatModel]:
        """See `ModelSource`."""
        raise NotFound(f"there is no endpoint {seat.endpoint}")
        yield
