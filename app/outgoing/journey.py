"""The way of a call over redirects: how far it may go, and what it may carry along.

httpx follows redirects and hands each hop to the transport; the extensions of a request, which
go from hop to hop, hold where it came from.
"""

from dataclasses import dataclass
from typing import Self

import httpx

from app.outgoing.deadline import Deadline
from app.outgoing.errors import RedirectRefused

_KEY = "skydeck.journey"
_HARMLESS = frozenset(
    ("accept", "accept-encoding", "accept-language", "connection", "host", "user-agent")
)
_WITHOUT_BODY = frozenset(("GET", "HEAD"))


@dataclass(frozen=True, slots=True)
class Journey:
    """`request` is the hop that goes out now; `before` is the one that led to it."""

    request: httpx.Request
    deadline: Deadline
    before: "Journey | None" = None

    @classmethod
    def of(cls, request: httpx.Request, seconds: float | None) -> Self:
        """The journey that a request goes on with, or starts."""
        last: Journey | None = request.extensions.get(_KEY)
        if last is not None and last.request is request:
            # Sent again as it is, not led here.
            last = last.before
        deadline = last.deadline if last else Deadline(request.url.host, seconds)
        journey = cls(request, deadline, last)
        request.extensions[_KEY] = journey
        return journey

    @property
    def hops(self) -> int:
        """How many redirects led here."""
        return 0 if self.before is None else self.before.hops + 1

    def check(self, most: int) -> None:
        """Raises `RedirectRefused`; takes away what another host must not see."""
        if self.before is None:
            return
        url, previous = self.request.url, self.before.request.url
        if self.hops > most:
            raise RedirectRefused(
                f"{previous.host} redirects to {url.host}, and "
                + (f"{most} redirects were followed already." if most else "none is followed.")
                + " Give the final address.",
                rule="too-many",
            )
        if previous.scheme == "https" and url.scheme != "https":
            raise RedirectRefused(
                f"{previous.host} redirects from https to {url.scheme}. Give the final address.",
                rule="downgrade",
            )
        if _origin(url) != _origin(self._first.url):
            self._strip(previous)

    @property
    def _first(self) -> httpx.Request:
        return self.request if self.before is None else self.before._first

    def _strip(self, previous: httpx.URL) -> None:
        if self.request.method not in _WITHOUT_BODY:
            raise RedirectRefused(
                f"{previous.host} redirects a {self.request.method} to {self.request.url.host}: "
                "another host is not sent what was meant for the first. Give the final address.",
                rule="body",
            )
        for name in set(self.request.headers) - _HARMLESS:
            del self.request.headers[name]


def _origin(url: httpx.URL) -> tuple[str, bytes, int | None]:
    return url.scheme, url.raw_host, url.port
