"""What `skydeck secret` does in the local database, with the key file of this machine."""

import asyncio
import getpass
import sys
from collections.abc import Awaitable, Callable
from typing import TypeVar
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app.commands.database import require_database, require_secret_keys
from app.commands.local import host_actor
from app.db import Database
from app.errors import SkydeckError
from app.projects import service as projects
from app.secrets import rotation, service
from app.secrets.rotation import Rotation
from app.secrets.service import Listed
from app.secrets.vault import attach
from app.settings import Settings

T = TypeVar("T")


def read_value(name: str) -> str:
    """The value as typed twice without echo, or all of stdin less one line end.

    Never an argument: everybody on the machine can read those. Raises `SkydeckError`.
    """
    if not sys.stdin.isatty():
        return sys.stdin.read().removesuffix("\n").removesuffix("\r")
    value = getpass.getpass(f"Value of {name}: ")
    if getpass.getpass("Once more: ") != value:
        raise SkydeckError("the two values differ; nothing was changed")
    return value


def set_value(settings: Settings, project: str | None, name: str, value: str) -> bool:
    """`project` None: of the site. Returns whether the secret is new. Raises `SkydeckError`."""

    async def act(database: Database) -> bool:
        async with database.write() as session:
            place = await _place(session, project)
            return await service.put(session, place, name, value, actor=host_actor())

    return _run(settings, act)


def all_secrets(settings: Settings, project: str | None) -> list[Listed]:
    """Raises `SkydeckError`."""

    async def act(database: Database) -> list[Listed]:
        async with database.read() as session:
            return await service.list_all(session, await _place(session, project))

    return _run(settings, act)


def delete_value(settings: Settings, project: str | None, name: str) -> None:
    """Raises `SkydeckError`."""

    async def act(database: Database) -> None:
        async with database.write() as session:
            await service.delete(session, await _place(session, project), name, actor=host_actor())

    _run(settings, act, needs_keys=False)


def rotate_keys(settings: Settings) -> Rotation:
    """Raises `SkydeckError`."""

    async def act(database: Database) -> Rotation:
        return await rotation.rotate(database, settings.secret_keys, actor=host_actor())

    return _run(settings, act)


def forget_old_keys(settings: Settings) -> list[str]:
    """The ids of the keys that were taken out. Raises `SkydeckError`."""

    async def act(database: Database) -> list[str]:
        return await rotation.forget_old(database, settings.secret_keys, actor=host_actor())

    return _run(settings, act)


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


async def _place(session: AsyncSession, project: str | None) -> UUID | None:
    if project is None:
        return None
    if project == projects.DEFAULT:
        return (await projects.ensure_default(session)).id
    return (await projects.get(session, project)).id
