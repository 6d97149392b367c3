"""The models of registered endpoints, as lanes need them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sqlalchemy.ext.asyncio import AsyncSession

from app.db import Database
from app.endpoints import service as endpoints
from app.episodes.seats import Seat
from app.errors import Invalid, NotFound, Problem
from app.llm.chat import ChatModel
from app.outgoing.allow_list import AllowList
from app.settings import Settings


class EndpointModels:
    """A `ModelSource` over the endpoints in the database."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self._database = database
        self._home = settings.home
        self._rules = AllowList(database)

    async def seat(self, session: AsyncSession, endpoint: str, model: str) -> Seat:
        """See `ModelSource`."""
        row = await endpoints.get(session, endpoint)
        listed = next((each for each in endpoints.models_of(row) if each.id == model), None)
        if listed is None:
            message = f"{row.name} lists no model {model}: look at its models, and check it again"
            raise Invalid(message, [Problem("model", "unknown_model", message)])
        return Seat(
            endpoint=row.slug,
            endpoint_name=row.name,
            model=model,
            max_model_len=listed.max_model_len,
            maze_size=endpoints.maze_size_of(row),
        )

    @asynccontextmanager
    async def open(self, seat: Seat) -> AsyncIterator[ChatModel]:
        """See `ModelSource`."""
        async with self._database.read() as session:
            row = await endpoints.find(session, seat.endpoint or "")
            if row is None:
                raise NotFound(f"the endpoint {seat.endpoint_name} was removed")
            access = await endpoints.access_of(session, row)
        opened = endpoints.open_model(access, seat.model, home=self._home, rules=self._rules)
        async with opened as model:
            yield model
