"""What `skydeck endpoint` does in the local database."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from app.commands.database import require_database, require_secret_keys
from app.commands.local import host_actor
from app.db import Database
from app.endpoints import service
from app.endpoints.service import EndpointModel
from app.errors import SkydeckError
from app.models import Endpoint, EndpointStatus
from app.outgoing.resolve import SystemResolver
from app.secrets.vault import attach
from app.settings import Settings

T = TypeVar("T")
_LOOK_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Seen:
    """What the worker saw."""

    slug: str
    status: str
    message: str
    is_ready: bool
    models: Sequence[EndpointModel]


def all_endpoints(settings: Settings) -> Sequence[Endpoint]:
    async def act(database: Database) -> Sequence[Endpoint]:
        async with database.read() as session:
            return await service.list_all(session)

    return _run(settings, act, needs_keys=False)


def register(settings: Settings, *, name: str, base_url: str, key: str) -> str:
    """The new endpoint's slug. Raises `SkydeckError`."""

    async def act(database: Database) -> str:
        await service.require_callable(database, SystemResolver(), base_url)
        async with database.write() as session:
            made = await service.register(
                session, host_actor(), name=name, base_url=base_url, key=key
            )
            return made.slug

    return _run(settings, act)


def look(settings: Settings, slug: str, *, seconds: float) -> Seen:
    """Waits for a worker's next look. Raises `SkydeckError` if there was none in time."""

    async def act(database: Database) -> Seen:
        async with database.write() as session:
            before = (await service.get(session, slug)).observed_at
            await service.wake(session, slug)
        end = time.monotonic() + seconds
        while True:
            async with database.read() as session:
                endpoint = await service.get(session, slug)
            if endpoint.observed_at != before:
                return _seen(endpoint)
            if time.monotonic() >= end:
                raise SkydeckError(
                    f"no worker looked at {slug} within {seconds:g} s: `skydeck up` or "
                    f"`skydeck worker` starts one; it was last seen {endpoint.status}"
                )
            await asyncio.sleep(_LOOK_SECONDS)

    return _run(settings, act, needs_keys=False)


def take_away(settings: Settings, slug: str) -> None:
    """Raises `SkydeckError`."""

    async def act(database: Database) -> None:
        async with database.write() as session:
            await service.remove(session, await service.get(session, slug), host_actor())

    _run(settings, act, needs_keys=False)


def _seen(endpoint: Endpoint) -> Seen:
    is_ready = endpoint.status is EndpointStatus.READY
    models = service.models_of(endpoint)
    return Seen(endpoint.slug, endpoint.status, endpoint.message, is_ready, models)


def _run(
    settings: Settings, act: Callable[[Database], Awaitable[T]], *, needs_keys: bool = True
) -> T:
    require_database(settings.url)
    if needs_keys:
        require_secret_keys(settings)

    async def run() -> T:
        database = Database(settings.url)
        attach(database, settings.secret_keys)
        try:
            return await act(database)
        finally:
            await database.close()

    return asyncio.run(run())
