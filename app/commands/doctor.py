"""`skydeck doctor`: looks at each part of an installation and says how to mend it."""

import asyncio
import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any

import httpx
from sqlalchemy.exc import SQLAlchemyError

from app.clusters import service as clusters
from app.commands.connection import service_url
from app.commands.database import require_database, require_secret_keys
from app.db import Database
from app.errors import NotFound, StartError
from app.ray.head_state import HeadPhase, read_head_state
from app.ray.memory import memory_of_head
from app.settings import Settings, load_settings
from app.up.checks import make_home

_FREE_BYTES = 1_000_000_000
_WEB_SECONDS = 5.0
_START = "start it: `skydeck up`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One part looked at. `fix` says what to do where it is not `ok`; `details` are numbers."""

    name: str
    ok: bool
    message: str
    fix: str | None = None
    details: dict[str, Any] = field(default_factory=dict)


def examine() -> list[Check]:
    """All checks; the others are left out where the settings cannot be read. Blocks a second."""
    try:
        settings = load_settings()
    except StartError as error:
        return [_bad("settings", error.message, "correct that setting, or remove it")]
    checks = [Check(name="settings", ok=True, message=f"home is {settings.home}")]
    return checks + [check(settings) for check in _CHECKS]


def as_text(checks: list[Check]) -> str:
    """A line a check, each failure followed by its fix."""
    lines = []
    for check in checks:
        lines.append(f"{'ok  ' if check.ok else 'FAIL'}  {check.name:<9} {check.message}")
        if check.fix and not check.ok:
            lines.append(f"{'':<16}fix: {check.fix}")
    return "\n".join(lines)


def as_json(checks: list[Check]) -> str:
    """`{ok, checks: [{name, ok, message, fix, details}]}`."""
    body = {"ok": all(check.ok for check in checks), "checks": [asdict(each) for each in checks]}
    return json.dumps(body, indent=2)


def _home(settings: Settings) -> Check:
    try:
        make_home(settings.home)
    except StartError as error:
        message, _, fix = error.message.partition(": ")
        return _bad("home", message, fix)
    return Check(name="home", ok=True, message="can be written")


def _disk(settings: Settings) -> Check:
    place = settings.home
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    message = f"{free / 1e9:.1f} GB free"
    return Check(
        name="disk",
        ok=free >= _FREE_BYTES,
        message=message,
        fix=f"free at least {_FREE_BYTES / 1e9:.0f} GB at {place}",
        details={"free_bytes": free},
    )


def _database(settings: Settings) -> Check:
    try:
        require_database(settings.url)
    except StartError as error:
        return _bad("database", error.message, "run `skydeck migrate`, or `skydeck up`")
    kind = "SQLite" if settings.url.startswith("sqlite") else "PostgreSQL"
    return Check(name="database", ok=True, message=f"{kind}, up to date")


def _secrets(settings: Settings) -> Check:
    try:
        require_database(settings.url)
    except StartError:
        return _bad("secrets", "cannot tell without the database", "mend the database first")
    try:
        return Check(name="secrets", ok=True, message=require_secret_keys(settings, makes=False))
    except StartError as error:
        message, _, fix = error.message.partition(": ")
        return _bad("secrets", message, fix or f"see {settings.secret_keys}")


def _web(settings: Settings) -> Check:
    url = f"{service_url(settings)}/healthz"
    try:
        answer = httpx.get(url, timeout=_WEB_SECONDS, trust_env=False)
    except httpx.HTTPError as error:
        return _bad("web", f"{url} does not answer ({type(error).__name__})", _START)
    if answer.status_code != httpx.codes.OK or answer.text != '{"status":"ok"}':
        return _bad("web", f"{url} is answered by another program", "set another SKYDECK_PORT")
    return Check(name="web", ok=True, message=f"answers at {url.removesuffix('/healthz')}")


def _worker(settings: Settings) -> Check:
    try:
        require_database(settings.url)
        hosts = asyncio.run(_living_workers(settings.url))
    except (StartError, SQLAlchemyError, OSError):
        return _bad("worker", "cannot tell without the database", "mend the database first")
    if not hosts:
        return _bad("worker", "none is alive: queued runs do not start", f"{_START}, or a worker")
    message = f"{len(hosts)} alive ({', '.join(sorted(set(hosts)))})"
    return Check(name="worker", ok=True, message=message, details={"count": len(hosts)})


async def _living_workers(url: str) -> list[str]:
    database = Database(url)
    try:
        async with database.read() as session:
            return [worker.host for worker in await clusters.list_workers(session)]
    finally:
        await database.close()


async def _why_embedded_is_off(url: str) -> str | None:
    """What the last start of `skydeck up` decided; None if it started the cluster, or never ran."""
    database = Database(url)
    try:
        async with database.read() as session:
            cluster = await clusters.get(session, clusters.EMBEDDED)
            return cluster.message if clusters.is_off(cluster) else None
    finally:
        await database.close()


def _ray(settings: Settings) -> Check:
    if settings.embedded_cluster == "off":
        return Check(name="ray", ok=True, message="no embedded cluster by SKYDECK_EMBEDDED_CLUSTER")
    with suppress(StartError, SQLAlchemyError, OSError, NotFound):
        require_database(settings.url)
        why = asyncio.run(_why_embedded_is_off(settings.url))
        if why is not None:
            return Check(name="ray", ok=True, message=f"no embedded cluster: {why}")
    state = read_head_state(settings.home)
    if state is None:
        return _bad("ray", "the embedded cluster was never started", _START)
    memory = memory_of_head(state)
    pss = sum(process.pss_bytes for process in memory)
    is_ready = state.phase is HeadPhase.READY and bool(memory)
    phase = state.phase if memory or state.phase is not HeadPhase.READY else "gone"
    used = f"{len(memory)} processes, {pss / 1e6:.0f} MB of memory (PSS)"
    return Check(
        name="ray",
        ok=is_ready,
        message=f"{phase} at {state.address}: {used}" if memory else f"{phase}: {state.message}",
        fix=f"{_START}; see {settings.home / 'ray' / 'head.log'}",
        details={"process_count": len(memory), "pss_bytes": pss},
    )


def _bad(name: str, message: str, fix: str) -> Check:
    return Check(name=name, ok=False, message=message, fix=fix)


_CHECKS: tuple[Callable[[Settings], Check], ...] = (
    _home,
    _disk,
    _database,
    _secrets,
    _web,
    _worker,
    _ray,
)
