"""What the command line does without the API, in the local database."""

import asyncio
import getpass
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TypeVar

from app.access.permissions import Scope
from app.access.principal import Actor
from app.clock import utcnow
from app.commands.database import require_database
from app.db import Database, WriteSession
from app.projects import service as projects
from app.secrets.vault import attach
from app.settings import load_settings
from app.users import service as users

T = TypeVar("T")


def make_token(
    url: str, *, name: str, scope: str, days: int | None = None, project: str | None = None
) -> str:
    """Makes a token in the database at `url`. Raises `StartError` if that is not up to date.

    It lasts for ever without `days`; `project` binds it to the one of that slug.
    """

    async def make(session: WriteSession) -> str:
        place = await projects.get(session, project) if project else None
        _, secret = await users.create_token(
            session,
            name=name,
            scope=Scope(scope),
            project_id=place.id if place else None,
            expires_at=utcnow() + timedelta(days=days) if days else None,
            actor=host_actor(),
        )
        return secret

    return in_database(url, make)


def revoke_token(url: str, slug: str) -> None:
    """Ends a token in the database at `url`. Raises `NotFound`."""

    async def revoke(session: WriteSession) -> None:
        await users.revoke_token(session, slug)

    in_database(url, revoke)


def host_actor() -> Actor:
    """Whoever calls a command, as the audit log names them."""
    return Actor(name=f"command line of {getpass.getuser()}", key="host")


def in_database(url: str, act: Callable[[WriteSession], Awaitable[T]]) -> T:
    """What `act` gives, in a transaction of its own. Raises `StartError`, or what `act` raises."""
    require_database(url)

    async def run() -> T:
        database = Database(url)
        attach(database, load_settings().secret_keys)
        try:
            async with database.write() as session:
                return await act(session)
        finally:
            await database.close()

    return asyncio.run(run())
