"""The client that commands call the API with, and the command line's own token."""

import ipaddress
import json
import os
from pathlib import Path
from urllib.parse import urlsplit

import psutil

from app.client import Client, checked_url
from app.errors import SkydeckError
from app.settings import UP_FILE, Settings, load_settings
from app.up.checks import LOCK_NAME

TOKEN_FILE = "cli.token"  # noqa: S105 - a file's name


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
    # The database's side takes longer to import than most calls take.
    from app.access.permissions import Scope
    from app.commands.local import host_actor, make_token

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
