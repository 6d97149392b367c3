"""What the command line does without the API: tokens made in the local database."""

import asyncio
import getpass
import ipaddress
import os
from pathlib import Path
from urllib.parse import urlsplit

from app.client import Client
from app.commands.database import require_database
from app.db import Database
from app.errors import SkydeckError
from app.settings import Settings, load_settings
from app.users import service as users
from app.users.service import Scope

TOKEN_FILE = "cli.token"  # noqa: S105 - a file's name


def make_token(url: str, *, name: str, scope: str) -> str:
    """Makes a token in the database at `url`. Raises `StartError` if that is not up to date."""
    require_database(url)
    return asyncio.run(_make_token(url, name, Scope(scope)))


def service_url(settings: Settings) -> str:
    """Where the service of these settings is reached from this machine."""
    # An address that listens everywhere is no address to call.
    host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(settings.host, settings.host)  # noqa: S104
    return f"http://{host}:{settings.port}"


def connect(url: str | None, token: str | None) -> Client:
    """A client of the service at `url`, by default the one that the settings describe.

    Without a token, one of our own is kept in the home folder, for a service on this machine
    only: it is never sent elsewhere. Raises `SkydeckError`.
    """
    if url and token:
        return Client(url, token)
    settings = load_settings()
    target = url or service_url(settings)
    if token:
        return Client(target, token)
    if url and not _is_local(url, settings):
        raise SkydeckError(f"{url} is not on this machine: set SKYDECK_TOKEN to a token of it")
    return Client(target, _own_token(settings), renew=lambda: _renewed_token(settings))


async def _make_token(url: str, name: str, scope: Scope) -> str:
    database = Database(url)
    try:
        async with database.write() as session:
            _, secret = await users.create_token(session, name=name, scope=scope)
    finally:
        await database.close()
    return secret


def _own_token(settings: Settings) -> str:
    try:
        return (settings.home / TOKEN_FILE).read_text().strip() or _renewed_token(settings)
    except FileNotFoundError:
        return _renewed_token(settings)
    except OSError as error:
        raise SkydeckError(f"{settings.home / TOKEN_FILE}: {error.strerror}") from None


def _renewed_token(settings: Settings) -> str:
    name = f"command line of {getpass.getuser()}"
    secret = make_token(settings.url, name=name, scope=Scope.WRITE)
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
