"""Starts web, worker and Ray head, keeps them running, and ends them in the right order.

up ── web      pages and API; inherits the listening socket, so that no visitor is refused
   ├─ worker   control loops
   ├─ endpoint the maze model behind an API; announces itself in a file
   └─ Ray head not a child in the kernel's sense: it outlives a killed supervisor, with its
               jobs, and the next `up` finds it again; the others end with the supervisor
"""

import asyncio
import json
import logging
import os
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from app.errors import StartError
from app.observability.logging import configure as configure_logging
from app.ray.embedded import EmbeddedHead
from app.ray.errors import HeadStartError
from app.ray.head_launch import HeadLimits
from app.settings import ENDPOINT_FILE, PREFIX, ROOT, UP_FILE, Settings, job_environment
from app.up.checks import listen, locked, make_home, write_privately
from app.up.service import Service

_PROBE_SECONDS = 2.0
_PROBE_PAUSE = 0.2
# What a trainer has for its last checkpoint, after which Ctrl-C would take too long.
_JOB_SECONDS = 8.0
_HEAD_PAUSE, _LONGEST_HEAD_PAUSE = 1.0, 60.0
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

log = logging.getLogger("up")


def run(settings: Settings) -> None:
    """Runs until SIGINT, SIGTERM or SIGHUP, then returns with nothing left running.

    Prints `ready URL` on stdout once pages answer. Raises `StartError`.
    """
    make_home(settings.home)
    write_privately()
    with locked(settings.home), listen(settings.host, settings.port) as listener:
        configure_logging(settings.log_level, settings.log_format)
        url = _url(settings.host, listener.getsockname()[1])
        with _announced(settings.home, url):
            asyncio.run(_Supervisor(settings, listener, url).run())


@contextmanager
def _announced(home: Path, url: str) -> Iterator[None]:
    """`<home>/up.json` tells other commands `{"url", "pid"}` while this process lives."""
    file = home / UP_FILE
    try:
        file.unlink(missing_ok=True)
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
            json.dump({"url": url, "pid": os.getpid()}, out)
    except OSError as error:
        raise StartError(f"{file} cannot be written ({error.strerror})") from None
    try:
        yield
    finally:
        file.unlink(missing_ok=True)


class _Supervisor:
    def __init__(self, settings: Settings, listener: socket.socket, url: str) -> None:
        self._settings = settings
        self._environ = child_environment(settings)
        self._url = url
        self._is_ready = asyncio.Event()
        web = ("-m", "app.up.serve", str(listener.fileno()))
        self._web = Service("web", web, environ=self._environ, files=[listener.fileno()])
        self._worker = Service("worker", ("-m", "worker"), environ=self._environ)
        # Whether there are these is decided with the database in view.
        self._head: EmbeddedHead | None = None
        self._endpoint: Service | None = None

    async def run(self) -> None:
        """Until a signal, or until something cannot be started. Raises `StartError`."""
        stop = asyncio.Event()
        # An endpoint that was killed left its address behind.
        self._forget_endpoint()
        for number in _SIGNALS:
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        stopping = asyncio.create_task(stop.wait())
        if not await _first(stopping, asyncio.create_task(self._prepare())):
            return
        try:
            await _first(stopping, asyncio.create_task(self._keep_all()))
        finally:
            await asyncio.gather(*(service.stop() for service in self._services()))
            self._forget_endpoint()
            # After the worker, which would take the head's end for a failure.
            await self._stop_head()

    async def _prepare(self) -> None:
        """The database, the embedded cluster's fate, and the first administrator's link."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "app.up.prepare"),
            cwd=ROOT,
            env=self._environ,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            out, err = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
        if process.returncode:
            lines = err.decode(errors="replace").strip().splitlines()
            raise StartError(lines[-1] if lines else "the database could not be prepared")
        found = json.loads(out)
        has_cluster = bool(found["embedded"]["is_on"])
        if has_cluster:
            self._head = _head_of(self._settings)
        else:
            log.info("no embedded cluster: %s", found["embedded"]["why"])
        if self._settings.has_embedded_endpoint(has_cluster=has_cluster):
            self._endpoint = _endpoint_of(self._settings)
        if found["link_secret"]:
            link = f"{self._url}/sign-in?token={found['link_secret']}"
            sys.stderr.write(f"first sign-in, within 15 minutes: {link}\n")
            sys.stderr.flush()

    async def _keep_all(self) -> None:
        try:
            async with asyncio.TaskGroup() as tasks:
                for service in self._services():
                    tasks.create_task(service.keep(self._is_ready))
                tasks.create_task(self._announce())
                if self._head is not None:
                    tasks.create_task(self._keep_head(self._head))
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from None

    def _forget_endpoint(self) -> None:
        (self._settings.home / ENDPOINT_FILE).unlink(missing_ok=True)

    def _services(self) -> list[Service]:
        return [self._web, self._worker, *([self._endpoint] if self._endpoint else [])]

    async def _announce(self) -> None:
        async with httpx.AsyncClient(trust_env=False, timeout=_PROBE_SECONDS) as http:
            while not await _answers(http, f"{self._url}/healthz"):  # noqa: ASYNC110 - no event
                await asyncio.sleep(_PROBE_PAUSE)
        self._is_ready.set()
        sys.stdout.write(f"ready {self._url}\n")
        sys.stdout.flush()

    async def _keep_head(self, head: EmbeddedHead) -> None:
        """Raises `StartError` if the head never came up; later, it is tried for ever."""
        has_been_ready, pause = False, _HEAD_PAUSE
        while True:
            try:
                await head.ensure_running()
                has_been_ready, pause = True, _HEAD_PAUSE
                ended = await head.wait()
                log.warning("%s; starting it again", ended.message)
            except (HeadStartError, OSError) as error:
                if not has_been_ready:
                    raise StartError(str(error)) from None
                pause = min(pause * 2, _LONGEST_HEAD_PAUSE)
                log.error("%s Next try in %.0f s.", error, pause)
            await asyncio.sleep(pause)

    async def _stop_head(self) -> None:
        if self._head is not None:
            try:
                await self._head.stop(job_seconds=_JOB_SECONDS)
            except (HeadStartError, OSError) as error:
                log.error("Ray head could not be stopped: %s", error)


def child_environment(settings: Settings) -> dict[str, str]:
    """The environment without Ray's variables, and with exactly these settings."""
    given = settings.model_dump(mode="json", exclude_none=True)
    return job_environment() | {PREFIX + name.upper(): str(value) for name, value in given.items()}


async def _first(stopping: asyncio.Task[Any], work: asyncio.Task[None]) -> bool:
    """Whether `work` ended by itself before `stopping` did; it has ended in any case.

    Raises what `work` raises.
    """
    await asyncio.wait([stopping, work], return_when="FIRST_COMPLETED")
    if work.done():
        work.result()
        return True
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)
    return False


async def _answers(http: httpx.AsyncClient, url: str) -> bool:
    try:
        return (await http.get(url)).is_success
    except httpx.HTTPError:
        return False


def _endpoint_of(settings: Settings) -> Service:
    """It reads no setting and no database, so it is told none: it answers strangers' requests."""
    arguments = (
        *("-m", "worker.serving", "--home", str(settings.home)),
        *("--log-level", settings.log_level, "--log-format", settings.log_format),
    )
    return Service("endpoint", arguments, environ=job_environment())


def _head_of(settings: Settings) -> EmbeddedHead:
    limits = HeadLimits(
        cpus=settings.embedded_cpus,
        object_store_bytes=settings.embedded_object_store_bytes,
        memory_bytes=settings.embedded_memory_bytes,
    )
    return EmbeddedHead(settings.home, limits=limits)


def _url(host: str, port: int) -> str:
    """The address for people: of this machine, where the server listens on all of them."""
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host)  # noqa: S104 - only read here
    return f"http://{shown or (f'[{host}]' if ':' in host else host)}:{port}"
