"""A throw-away PostgreSQL server for the tests: real, on loopback, in a temporary folder."""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

_USER = "postgres"


@contextmanager
def running_server() -> Iterator[str]:
    """Starts a server and gives its URL without a database name; its data goes at the end."""
    with TemporaryDirectory(prefix="skydeck-pg-") as name:
        folder = Path(name)
        user = _unprivileged(folder)
        try:
            yield f"postgresql+asyncpg://{_USER}@127.0.0.1:{_start(folder, user)}"
        finally:
            stop = ["-m", "immediate", "stop"]
            _call(folder, user, ["pg_ctl", "-D", str(folder / "data"), *stop], check=False)


def _start(folder: Path, user: str | None) -> int:
    data, port = str(folder / "data"), free_port()
    make = ["initdb", "-D", data, "-U", _USER, "-A", "trust", "-E", "UTF8", "--no-sync"]
    _call(folder, user, make)
    options = f"-F -k {folder} -p {port} -c listen_addresses=127.0.0.1 -c max_connections=200"
    _call(folder, user, ["pg_ctl", "-D", data, "-w", "-l", f"{folder}/log", "-o", options, "start"])
    return port


def _call(folder: Path, user: str | None, command: list[str], *, check: bool = True) -> None:
    program, *arguments = command
    done = subprocess.run(
        [_programs() / program, *arguments], capture_output=True, cwd=folder, user=user
    )
    if check and done.returncode:
        raise RuntimeError(f"{program} failed: {done.stderr.decode(errors='replace')[-500:]}")


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on right now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _programs() -> Path:
    """Debian keeps the server's programs out of PATH, one folder a version."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    program = str(found[-1]) if found else shutil.which("initdb")
    if program is None:
        raise RuntimeError("PostgreSQL is not installed: `make test` installs it")
    return Path(program).parent


def _unprivileged(folder: Path) -> str | None:
    """The server refuses to run as root, so root hands it to the package's own user."""
    if os.geteuid() != 0:
        return None
    shutil.chown(folder, _USER)
    return _USER
