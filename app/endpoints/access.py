"""How a model of an endpoint is reached: its address and key, read in a session, used outside."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from sqlalchemy.ext.asyncio import AsyncSession

from app.llm.chat import ModelError, ModelErrorKind
from app.llm.connect import connect
from app.llm.dialect import Dialect
from app.llm.limits import USUAL, ChatLimits
from app.llm.openai import OpenAIChat
from app.models import Endpoint, EndpointKind
from app.observability.masking import remember
from app.outgoing.client import RuleSource
from app.outgoing.errors import BadAddress
from app.secrets import service as secrets
from app.settings import ENDPOINT_FILE

NOT_RUNNING = "This machine's endpoint does not run. `skydeck up` starts it."
_EMBEDDED_KEY = "EMBEDDED_ENDPOINT"


@dataclass(frozen=True, slots=True)
class EndpointAccess:
    """A snapshot. `key` None: none is sent. The embedded one's address is read at each opening."""

    slug: str
    name: str
    kind: EndpointKind
    base_url: str
    dialect: Dialect | None
    key: str | None = field(default=None, repr=False)


async def access_of(session: AsyncSession, endpoint: Endpoint) -> EndpointAccess:
    """Opens the endpoint's key. Raises `KeyMissing`, and `ModelError` if the key was deleted."""
    key = None
    if endpoint.secret_name is not None:
        key = await secrets.open_of_site(session, endpoint.secret_name)
        if key is None:
            text = f"The key of {endpoint.name} was deleted. An administrator can set it anew."
            raise ModelError(ModelErrorKind.UNAUTHORIZED, text)
    return EndpointAccess(
        endpoint.slug, endpoint.name, endpoint.kind, endpoint.base_url, endpoint.dialect, key
    )


def open_model(
    access: EndpointAccess,
    model_id: str,
    *,
    home: Path,
    rules: RuleSource,
    limits: ChatLimits = USUAL,
) -> OpenAIChat:
    """A model to talk with; close it afterwards, or use it as a context. Needs no session.

    `rules` is the process's `AllowList`. Raises `ModelError` if nothing can be called.
    """
    http, _ = open_http(access, home=home, rules=rules, limits=limits)
    return OpenAIChat(http, model_id, dialect=access.dialect, limits=limits)


def open_http(
    access: EndpointAccess, *, home: Path, rules: RuleSource, limits: ChatLimits
) -> tuple[httpx.AsyncClient, str]:
    """The connection and its base URL. Raises `ModelError`."""
    try:
        if access.kind is not EndpointKind.EMBEDDED:
            return connect(access.base_url, access.key, rules=rules, limits=limits), access.base_url
        base_url, key = read_announcement(home)
        return connect(base_url, key, rules=None, limits=limits), base_url
    except BadAddress as error:
        raise ModelError(ModelErrorKind.REFUSED, error.message) from None


def read_announcement(home: Path) -> tuple[str, str]:
    """Base URL and key of the embedded endpoint. Raises `ModelError` if it does not run."""
    try:
        found = json.loads((home / ENDPOINT_FILE).read_bytes())
    except (OSError, ValueError):
        found = None
    if not isinstance(found, Mapping) or not all(
        isinstance(found.get(name), str) for name in ("base_url", "key")
    ):
        raise ModelError(ModelErrorKind.UNREACHABLE, NOT_RUNNING)
    remember(_EMBEDDED_KEY, found["key"])
    return found["base_url"], found["key"]
