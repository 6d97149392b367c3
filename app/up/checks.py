"""What must hold before anything is started; each failure is one line for people."""

import errno
import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from app.errors import StartError

LOCK_NAME = "up.lock"

# What a start writes at the least: the database's files and Ray's first logs.
_PROBE_BYTES = 8 * 1024 * 1024
_BACKLOG = 512


def make_home(home: Path) -> None:
    """Makes the home folder, for this user alone, and tries to write into it.

    A folder that is there keeps its mode. Raises `StartError`.
    """
    probe = home / f".probe-{os.getpid()}"
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            with probe.open("wb") as file:
                file.write(bytes(_PROBE_BYTES))
                os.fsync(file.fileno())
        finally:
            with suppress(OSError):
                probe.unlink()
    except OSError as error:
        raise StartError(_why_not(home, error)) from None


def write_privately() -> None:
    """What this process and its children write from now on is for this user alone."""
    os.umask(0o077)


@contextmanager
def locked(home: Path) -> Iterator[None]:
    """Holds the home folder for this process. Raises `StartError` if another one has it."""
    with (home / LOCK_NAME).open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise StartError(
                f"Skydeck already runs on {home} (process {file.read().strip() or 'unknown'}): "
                "stop that one first, or set another SKYDECK_HOME"
            ) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        try:
            yield
        finally:
            # By then the number may be another process's.
            file.truncate(0)


def listen(host: str, port: int) -> socket.socket:
    """A listening socket on `host`; port 0 takes a free one. Raises `StartError`."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise StartError(f"cannot listen on host {host!r}: {error.strerror}") from None
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise StartError(_why_no_port(host, port, error)) from None
    return listener


def _why_not(home: Path, error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return (
            f"the disk of the home folder {home} is full ({error.strerror}): "
            f"free at least {_PROBE_BYTES >> 20} MB, nothing was changed"
        )
    return (
        f"the home folder {home} cannot be written ({error.strerror}): "
        "fix its permissions, or set another SKYDECK_HOME"
    )


def _why_no_port(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"port {port} on {host} is taken by another program: "
            "take another one with --port or SKYDECK_PORT (0: any free one)"
        )
    return f"cannot listen on {host}:{port}: {error.strerror}"
