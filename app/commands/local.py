"""What the command line does without the API, in the local database; and its own token."""

import asyncio
import getpass
import ipaddress
import json
import os
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

import psutil

from app.access.permissions import Scope
from app.access.principal import Actor
from app.client import Client, checked_url
from app.clock import utcnow
from app.commands.database import require_database
from app.db import Database, WriteSession
from app.errors import SkydeckError
from app.projects import service as projects
from app.secrets.vault import attach
from app.settings import Settings, load_settings
from app.up.checks import LOCK_NAME, UP_FILE
from app.users import service as users

T = TypeVar("T")
TOKEN_FILE = "cli.token"  # noqa: S105 - a file's name


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


def service_url(settings: Settings) -> str:
    """Where the service of these settings is reached from this machine.

    A running `skydeck up` says it itself: its port may have been given on its command line.
    """
    return _running_url(settings.home) or f"http://{_callable(settings.host)}:{settings.port}"


def connect(url: str | None, token: str | None) -> Client:
    """A client of the service at `url`, by default the one that the settings describe.

    Without a token, one of our own is kept in the home folder, for a service on this machine
    only: it is never sent elsewhere. Raises `SkydeckError`.
    """
    if url and token:
        return Client(url, token)
    if url:
        checked_url(url)
    settings = load_settings()
    target = url or service_url(settings)
    if token:
        return Client(target, token)
    if url and not _is_local(url, settings):
        raise SkydeckError(f"{url} is not on this machine: set SKYDECK_TOKEN to a token of it")
    return Client(target, _own_token(settings), renew=lambda: _renewed_token(settings))


def _running_url(home: Path) -> str | None:
    try:
        url = json.loads((home / UP_FILE).read_text())["url"]
        # A supervisor that was killed leaves both files behind.
        is_running = psutil.pid_exists(int((home / LOCK_NAME).read_text()))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return url if is_running and isinstance(url, str) else None


def _callable(host: str) -> str:
    # An address that listens everywhere is no address to call.
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - only read here
    return f"[{host}]" if ":" in host else host


def _own_token(settings: Settings) -> str:
    try:
        return (settings.home / TOKEN_FILE).read_text().strip() or _renewed_token(settings)
    except FileNotFoundError:
        return _renewed_token(settings)
    except OSError as error:
        raise SkydeckError(f"{settings.home / TOKEN_FILE}: {error.strerror}") from None


def _renewed_token(settings: Settings) -> str:
    secret = make_token(settings.url, name=host_actor().name, scope=Scope.WRITE)
    _write_secret(settings.home / TOKEN_FILE, secret)
    return secret


def _write_secret(file: Path, secret: str) -> None:
    try:
        file.unlink(missing_ok=True)
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as out:
            out.write(secret + "\n")
    except OSError as error:
        raise SkydeckError(f"{file} cannot be written: {error.strerror}") from None


def _is_local(url: str, settings: Settings) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback or host == settings.host
    except ValueError:
        return host in ("localhost", settings.host)
