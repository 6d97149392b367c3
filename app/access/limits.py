"""How many requests a caller may make a minute, counted in each web process for itself.

Passwords are throttled elsewhere, in the database, across all processes (`app.users`).
"""

import hashlib
import math
import time
from dataclasses import dataclass

from fastapi import Request
from limits import RateLimitItem, RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import SlidingWindowCounterRateLimiter

from app.access.addresses import network_of
from app.access.guard import origin_of
from app.errors import TooMany
from app.web.session_cookie import read_session

# Many people may sit behind one address.
_CALLERS_AN_ADDRESS = 5


class _Counts(MemoryStorage):
    """The library starts a thread at each count, which forgets what is over; here once a while."""

    _SECONDS = 5.0

    def __init__(self) -> None:
        self._due = 0.0
        super().__init__()

    def _MemoryStorage__schedule_expiry(self) -> None:
        if time.monotonic() >= self._due:
            self._due = time.monotonic() + self._SECONDS
            super()._MemoryStorage__schedule_expiry()  # type: ignore[misc]


class RequestCounter:
    """Counts requests by address and by credential over a sliding minute."""

    def __init__(self) -> None:
        self._limiter = SlidingWindowCounterRateLimiter(_Counts())

    def count(self, item: RateLimitItem, *who: str) -> None:
        """Counts one request. Raises `TooMany` if that is one too many; it is then not counted."""
        if self._limiter.hit(item, *who):
            return
        seconds = self._limiter.get_window_stats(item, *who).reset_time - time.time()
        raise TooMany(
            f"more than {item.amount} requests in a minute; nothing was changed; wait a moment",
            retry_after_seconds=max(1, math.ceil(seconds)),
        )


@dataclass(frozen=True, slots=True)
class RequestLimit:
    """A dependency of routes: at most `per_minute` requests, `area` keeping its own count.

    `per_minute` None takes the setting `requests_per_minute`. Where a request has a credential it
    is counted under that, and under its address with room for several callers. Other cookies and
    other schemes of `Authorization` count for nothing: whoever adds one is still the same caller.
    """

    area: str
    per_minute: int | None = None

    async def __call__(self, request: Request) -> None:
        """Raises `TooMany`."""
        counter: RequestCounter = request.app.state.request_counter
        amount = self.per_minute or request.app.state.settings.requests_per_minute
        address = network_of(origin_of(request).address)
        credential = _credential(request)
        # The address comes first: whoever makes up credentials fills no table of counts.
        shared = amount * (_CALLERS_AN_ADDRESS if credential else 1)
        counter.count(RateLimitItemPerMinute(shared), self.area, "address", address)
        if credential:
            counter.count(RateLimitItemPerMinute(amount), self.area, "credential", credential)


def _credential(request: Request) -> str:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    given = token.strip() if scheme.lower() == "bearer" else ""
    given = given or read_session(request)
    return hashlib.sha256(given.encode()).hexdigest() if given else ""
