"""Endpoints: registered, changed and removed by administrators, looked at by the worker."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urlsplit

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from app.access.principal import Actor
from app.audit import service as audit
from app.audit.actions import Action
from app.audit.service import Target
from app.clock import utcnow
from app.db import Database
from app.endpoints import repository
from app.endpoints.access import NOT_RUNNING, EndpointAccess, access_of, open_model
from app.endpoints.values import Values, checked, origin_of
from app.errors import Conflict, Invalid, NotFound, Problem
from app.ids import new_slug
from app.models import Endpoint, EndpointKind, EndpointStatus
from app.outgoing import service as outgoing
from app.outgoing.errors import AddressRefused
from app.outgoing.resolve import Resolver
from app.secrets import service as secrets

__all__ = ["EndpointAccess", "access_of", "open_model"]

EMBEDDED = "embedded"
EMBEDDED_MAZE = (9, 9)
"""Height and width in cells. A test holds it to `worker/serving`, which the app may not import."""
_TAKEN = "another endpoint has this name"


@dataclass(frozen=True, slots=True)
class EndpointModel:
    """A model that an endpoint lists; `is_ready`: the endpoint answered at the last look."""

    id: str
    parent: str | None
    max_model_len: int | None
    is_ready: bool


async def find(session: AsyncSession, slug: str) -> Endpoint | None:
    return await repository.find_by_slug(session, slug)


async def get(session: AsyncSession, slug: str) -> Endpoint:
    """Raises `NotFound`."""
    endpoint = await repository.find_by_slug(session, slug)
    if endpoint is None:
        raise NotFound(f"there is no endpoint {slug}")
    return endpoint


async def find_called(session: AsyncSession, name: str) -> Endpoint | None:
    """By its slug, or else by its name."""
    by_slug = await repository.find_by_slug(session, name)
    return by_slug or await repository.find_by_name(session, name)


async def list_all(session: AsyncSession) -> Sequence[Endpoint]:
    """The embedded one first, then by age."""
    return await repository.list_all(session)


async def is_listed(session: AsyncSession, slug: str, model: str) -> bool:
    """Whether the endpoint named this model at the last look at it that succeeded."""
    endpoint = await repository.find_by_slug(session, slug)
    return endpoint is not None and any(each["id"] == model for each in endpoint.models)


def maze_size_of(endpoint: Endpoint) -> tuple[int, int] | None:
    """Height and width of the only mazes that its models know; None: not known."""
    return EMBEDDED_MAZE if endpoint.kind is EndpointKind.EMBEDDED else None


def models_of(endpoint: Endpoint) -> list[EndpointModel]:
    """What it listed at the last look that succeeded; adapters know their base's length."""
    is_ready = endpoint.status is EndpointStatus.READY
    lengths = {each["id"]: each.get("max_model_len") for each in endpoint.models}
    return [
        EndpointModel(
            id=each["id"],
            parent=each.get("parent"),
            max_model_len=each.get("max_model_len") or lengths.get(each.get("parent")),
            is_ready=is_ready,
        )
        for each in endpoint.models
    ]


def require_plausible(*, name: str, base_url: str, key: str | None) -> None:
    """Raises `Invalid` with what is wrong in all fields, before anything is asked or stored."""
    checked(name=name, base_url=base_url, key=key)


async def require_callable(database: Database, resolver: Resolver, base_url: str) -> None:
    """Raises `Invalid` for an address that our rules refuse, and says where it can be allowed.

    Asks DNS, so hold no session meanwhile. A name that is not known yet may come to be.
    """
    trial = await outgoing.try_address(database, resolver, base_url)
    if isinstance(trial.refusal, AddressRefused):
        refusal = trial.refusal
        problem = Problem("base_url", refusal.rule, refusal.message)
        raise Invalid(refusal.message, [problem])


async def register(
    session: AsyncSession, actor: Actor, *, name: str, base_url: str, key: str = ""
) -> Endpoint:
    """A new endpoint, looked at within a second; an empty `key` means that it needs none.

    Raises `Invalid`, `KeyMissing`.
    """
    await secrets.refuse_values(session, None, {"name": name, "base_url": base_url})
    values = checked(name=name, base_url=base_url, key=key)
    await _require_free(session, values.name)
    now = utcnow()
    slug = new_slug("end")
    endpoint = Endpoint(
        slug=slug,
        name=values.name,
        kind=EndpointKind.OPENAI,
        base_url=values.base_url,
        secret_name=_secret_name(slug) if values.key else None,
        status=EndpointStatus.CHECKING,
        status_since=now,
        message="",
        models=[],
        failure_count=0,
        created_by=actor.name,
        created_at=now,
        due_at=now,
    )
    await _store(session, endpoint)
    if values.key:
        await _put_key(session, endpoint, values.key, actor)
    audit.record(session, actor, Action.ENDPOINT_CREATE, _target(endpoint), after=_fields(endpoint))
    return endpoint


async def change(
    session: AsyncSession,
    endpoint: Endpoint,
    actor: Actor,
    *,
    name: str | None = None,
    base_url: str | None = None,
    key: str | None = None,
) -> Endpoint:
    """Changes what is given; `key` empty takes it away. Raises `Invalid`, `Conflict`.

    A key goes to the host that it was given for and to no other: with a new host it is asked anew.
    """
    _require_registered(endpoint)
    given = {"name": name, "base_url": base_url}
    await secrets.refuse_values(session, None, {k: v for k, v in given.items() if v is not None})
    values = checked(name=name or endpoint.name, base_url=base_url or endpoint.base_url, key=key)
    if values.name != endpoint.name:
        await _require_free(session, values.name)
    _require_key_again(endpoint, values)
    before, is_moved = _fields(endpoint), values.base_url != endpoint.base_url
    endpoint.name, endpoint.base_url = values.name, values.base_url
    await _store(session, endpoint)
    await _change_key(session, endpoint, values.key, actor)
    if is_moved or values.key is not None:
        _look_again(endpoint)
        if is_moved:
            endpoint.models, endpoint.dialect, endpoint.latency_seconds = [], None, None
    after = _fields(endpoint)
    if after != before or values.key is not None:
        details = {"now": after, "key": "changed" if values.key is not None else "kept"}
        audit.record(
            session,
            actor,
            Action.ENDPOINT_CHANGE,
            _target(endpoint),
            before=before,
            after=after,
            details=details,
        )
    return endpoint


async def remove(session: AsyncSession, endpoint: Endpoint, actor: Actor) -> None:
    """Takes it off all lists and deletes its key; what was played on it keeps its name.

    Raises `Conflict` for the embedded one.
    """
    _require_registered(endpoint)
    before = _fields(endpoint)
    await _change_key(session, endpoint, "", actor)
    endpoint.removed_at, endpoint.due_at = utcnow(), None
    audit.record(session, actor, Action.ENDPOINT_REMOVE, _target(endpoint), before=before)
    await session.flush()


async def wake(session: AsyncSession, slug: str) -> None:
    """Has a worker look at the endpoint at once: it was asked for, or something new is served."""
    await repository.set_due(session, slug, utcnow())


async def ensure_embedded(session: AsyncSession) -> Endpoint:
    """The row of the endpoint that `skydeck up` starts, made on first use."""
    found = await repository.find_by_slug(session, EMBEDDED)
    if found is not None:
        return found
    now = utcnow()
    endpoint = Endpoint(
        slug=EMBEDDED,
        name=await _free_name(session, "Embedded"),
        kind=EndpointKind.EMBEDDED,
        base_url="",
        status=EndpointStatus.STOPPED,
        status_since=now,
        message=NOT_RUNNING,
        models=[],
        failure_count=0,
        created_by="skydeck",
        created_at=now,
        due_at=now,
    )
    try:
        async with session.begin_nested():
            session.add(endpoint)
    except IntegrityError:
        # Another process made it between our look and our insert.
        return await get(session, EMBEDDED)
    return endpoint


async def _store(session: AsyncSession, endpoint: Endpoint) -> None:
    name = endpoint.name
    try:
        async with session.begin_nested():
            session.add(endpoint)
    except IntegrityError:
        raise Conflict(f"{name} was registered by somebody else just now: try again") from None


async def _require_free(session: AsyncSession, name: str) -> None:
    if await repository.find_by_name(session, name) is not None:
        raise Invalid(_TAKEN, [Problem("name", "taken", _TAKEN)])


async def _free_name(session: AsyncSession, name: str) -> str:
    taken = await repository.find_by_name(session, name)
    return name if taken is None else f"{name} (this machine)"


def _require_registered(endpoint: Endpoint) -> None:
    if endpoint.kind is EndpointKind.EMBEDDED:
        raise Conflict(
            "this machine's own endpoint is started by `skydeck up`: it is neither changed nor "
            "removed; nothing was changed"
        )


def _require_key_again(endpoint: Endpoint, values: Values) -> None:
    before, after = origin_of(endpoint.base_url), origin_of(values.base_url)
    if values.key is None and endpoint.secret_name is not None and before != after:
        host = urlsplit(endpoint.base_url).netloc
        message = f"its key was given for {host}: type the key for the new host, or remove it"
        raise Invalid(message, [Problem("key", "other_host", message)])


async def _put_key(session: AsyncSession, endpoint: Endpoint, key: str, actor: Actor) -> None:
    endpoint.secret_name = _secret_name(endpoint.slug)
    try:
        await secrets.put(session, None, endpoint.secret_name, key, actor=actor)
    except Invalid as error:
        problems = [Problem("key", each.rule, each.message) for each in error.problems]
        raise Invalid(error.message, problems) from None


async def _change_key(
    session: AsyncSession, endpoint: Endpoint, key: str | None, actor: Actor
) -> None:
    """None leaves the key, an empty one takes it away."""
    if key:
        await _put_key(session, endpoint, key, actor)
    elif key is not None and endpoint.secret_name is not None:
        if await secrets.has_of_site(session, endpoint.secret_name):
            await secrets.delete(session, None, endpoint.secret_name, actor=actor)
        endpoint.secret_name = None


def _look_again(endpoint: Endpoint) -> None:
    now = utcnow()
    endpoint.status, endpoint.status_since, endpoint.message = EndpointStatus.CHECKING, now, ""
    endpoint.failure_count, endpoint.due_at = 0, now - timedelta(seconds=1)
    # Whoever looks at the old address just now comes too late.
    endpoint.lease_token, endpoint.lease_until = None, None


def _secret_name(slug: str) -> str:
    return "ENDPOINT_" + slug.upper().replace("-", "_")


def _fields(endpoint: Endpoint) -> dict[str, str | bool]:
    return {
        "name": endpoint.name,
        "base_url": endpoint.base_url,
        "has_key": endpoint.secret_name is not None,
    }


def _target(endpoint: Endpoint) -> Target:
    return Target("endpoint", endpoint.slug)
