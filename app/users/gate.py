"""Stands before the sign-in form: what comes faster than people do is sent away at once.

Passwords have their own limits, in the database (`service.throttle`). This one only keeps a flood
from costing more than a glance: nothing is parsed, asked or rendered for what it refuses. It is
counted in each web process for itself. Links have a path of their own and pass.

A network's first tries are its own, so nobody can use them up for others. Only what comes after
them takes from what all share.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from app.access.addresses import network_of
from app.users.contexts import SignInPage
from app.users.forms import sign_in_fields
from app.users.passwords import POOL, PasswordPool
from app.web.csp import HEADERS
from app.web.templating import page

_PATH = "/sign-in"
_RETRY_SECONDS = 5
_REFUSAL = (
    "Too many people sign in right now: this try was not looked at and not counted. "
    "Try again in a few seconds, or use a sign-in link."
)
_MOST_KEYS = 10_000


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float


class Buckets:
    """Token buckets by key: `burst` at once, then `per_second`."""

    def __init__(self, per_second: float, burst: int) -> None:
        self._per_second = per_second
        self._burst = burst
        self._buckets: dict[str, _Bucket] = {}

    def take(self, key: str, now: float) -> bool:
        """Whether there was a token left for `key` at `now`, in seconds of any clock."""
        if len(self._buckets) >= _MOST_KEYS:
            self._buckets.clear()
        bucket = self._buckets.setdefault(key, _Bucket(self._burst, now))
        refilled = bucket.tokens + (now - bucket.at) * self._per_second
        bucket.tokens, bucket.at = min(refilled, self._burst), now
        if bucket.tokens < 1:
            return False
        bucket.tokens -= 1
        return True


class SignInGate:
    """ASGI middleware: 429 for sign-ins beyond one a second from a network.

    And for what networks send beyond their first two, and one a minute, once that is together more
    than five a second; and while the queue before the hash is full, which would refuse it anyhow.
    """

    def __init__(
        self,
        app: ASGIApp,
        clock: Callable[[], float] = time.monotonic,
        pool: PasswordPool = POOL,
    ) -> None:
        self.app = app
        self._pool = pool
        self._clock = clock
        self._by_network = Buckets(per_second=1, burst=20)
        self._first = Buckets(per_second=1 / 60, burst=2)
        self._shared = Buckets(per_second=5, burst=40)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_sign_in = scope["type"] == "http" and scope["path"] == _PATH
        if is_sign_in and scope["method"] == "POST" and not self._may_pass(scope):
            await _refusal()(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    def _may_pass(self, scope: Scope) -> bool:
        now = self._clock()
        network = network_of(scope["client"][0] if scope.get("client") else "")
        # The network's own limit first, so that one that floods does not use up what is for all.
        if not self._by_network.take(network, now) or self._pool.is_full():
            return False
        return self._first.take(network, now) or self._shared.take("", now)


def _refusal() -> Response:
    headers = {**HEADERS, "Cache-Control": "no-store", "Retry-After": str(_RETRY_SECONDS)}
    return Response(_body(), 429, headers, "text/html")


@lru_cache(maxsize=1)
def _body() -> bytes:
    """The page, as for somebody with no cookies, rendered once."""
    fields = sign_in_fields()
    context = SignInPage(problem=_REFUSAL, fields=fields, next_path="/", is_first_time=False)
    nobody = Request({"type": "http", "path": _PATH, "query_string": b"", "headers": []})
    return bytes(page(nobody, "users/sign_in.html", context, status=429).body)
