"""What people type for an endpoint, checked and in its one spelling. Pure."""

from dataclasses import dataclass

import httpx

from app.errors import Invalid, Problem
from app.outgoing.address import DEFAULT_PORTS, parse_url
from app.outgoing.errors import BadAddress
from app.secrets.masking import MIN_LENGTH

MAX_NAME = 100
MAX_URL = 2_000
MAX_KEY = 4_000
_CALLS = ("/chat/completions", "/completions", "/models")


@dataclass(frozen=True, slots=True)
class Values:
    """`key` None: it stays as it is; empty: there is none."""

    name: str
    base_url: str
    key: str | None


def checked(*, name: str, base_url: str, key: str | None) -> Values:
    """Raises `Invalid` with the problems of all fields; no message holds a key."""
    problems = []
    name = name.strip()
    if not 0 < len(name) <= MAX_NAME or not name.isprintable():
        message = f"give a name of at most {MAX_NAME} printable characters"
        problems.append(Problem("name", "name", message))
    url = ""
    try:
        url = base_url_of(base_url)
    except BadAddress as error:
        problems.append(Problem("base_url", error.rule, error.message))
    key = None if key is None else key.strip()
    if key and len(key) < MIN_LENGTH:
        message = (
            f"a key has at least {MIN_LENGTH} characters, since a shorter one cannot be masked in "
            "logs: give the server a longer one, or leave this empty if it asks for none"
        )
        problems.append(Problem("key", "too_short", message))
    elif key and not (len(key) <= MAX_KEY and key.isascii() and key.isprintable()):
        message = (
            f"a key has at most {MAX_KEY:,} plain characters on one line, as headers take them"
        )
        problems.append(Problem("key", "key", message))
    if problems:
        raise Invalid(problems[0].message, problems)
    return Values(name, url, key)


def base_url_of(text: str) -> str:
    """The URL below which the calls are, without the call that people paste along.

    Raises `BadAddress`.
    """
    if not text.strip():
        raise BadAddress("Give its address, such as https://llm.example.com/v1.", rule="missing")
    if len(text) > MAX_URL:
        raise BadAddress(f"An address has at most {MAX_URL:,} characters.", rule="length")
    url = parse_url(text)
    if url.query or url.fragment:
        raise BadAddress("An endpoint's address has no ? and no #.", rule="query")
    path = url.path.rstrip("/")
    for call in _CALLS:
        path = path.removesuffix(call)
    return str(url.copy_with(path=path or "/")).rstrip("/")


def origin_of(base_url: str) -> tuple[str, str, int | None]:
    """Scheme, host and port."""
    url = httpx.URL(base_url)
    return url.scheme, url.host, url.port or DEFAULT_PORTS.get(url.scheme)
