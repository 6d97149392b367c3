"""Bounds what strangers hold open: time for the head of a request, and connections in number.

uvicorn itself waits for ever for the first head, and takes connections until the process has no
file descriptor left for its database and its files.
"""

import asyncio
import logging
import resource
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, cast

import h11
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware
from uvicorn.protocols.http.h11_impl import H11Protocol

from app.access.addresses import network_of

_HEAD_SECONDS = 10.0
_MOST_CONNECTIONS = 2_000
_MOST_BACKLOG = 2_048
_SECONDS_BETWEEN_WARNINGS = 60.0
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """`total` and `per_address` are open connections to this process.

    `backlog` connections at most are accepted in one go, before the first of them is looked at.
    """

    total: int
    per_address: int
    backlog: int
    head_seconds: float = _HEAD_SECONDS

    @classmethod
    def of_process(cls) -> "ConnectionLimits":
        """Half of the files that the process may open; the rest is for the database and files."""
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if files == resource.RLIM_INFINITY:
            files = 2 * _MOST_CONNECTIONS
        total = max(4, min(_MOST_CONNECTIONS, files // 2))
        # A refused connection lives for some turns of the event loop: four of them must fit.
        return cls(total, total // 4, max(16, min(_MOST_BACKLOG, files // 16)))


def bounded_protocol(limits: ConnectionLimits) -> type[asyncio.Protocol]:
    """The class for uvicorn's `http`; the connections of all its objects are counted together."""
    members = {"limits": limits, "open": _Open()}
    return cast(type[asyncio.Protocol], type("BoundedProtocol", (_BoundedProtocol,), members))


@dataclass(slots=True)
class _Open:
    by_address: Counter[str] = field(default_factory=Counter)
    warn_after: float = 0.0

    def leave(self, address: str) -> None:
        self.by_address[address] -= 1
        if not self.by_address[address]:
            del self.by_address[address]


class _BoundedProtocol(H11Protocol):
    limits: ConnectionLimits
    open: _Open

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._deadline: asyncio.TimerHandle | None = None
        self._address = ""
        self._is_counted = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        host = self.client[0] if self.client else ""
        self._address = network_of(host)
        if self._is_one_too_many(host):
            self._warn()
            self.connections.discard(self)
            transport.abort()
            return
        self.open.by_address[self._address] += 1
        self._is_counted = True
        self._start_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_deadline()
        if self._is_counted:
            self._is_counted = False
            self.open.leave(self._address)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is h11.IDLE or self._is_answered_early():
            self._start_deadline()
        else:
            self._stop_deadline()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        # Between two requests uvicorn's own limit holds, until the first byte of the next.
        if self._is_answered_early():
            self._start_deadline()

    def _is_one_too_many(self, host: str) -> bool:
        if len(self.connections) > self.limits.total:
            return True
        # Behind a proxy that is known as one are many people.
        is_proxy = isinstance(self.app, ProxyHeadersMiddleware) and host in self.app.trusted_hosts
        return not is_proxy and self.open.by_address[self._address] >= self.limits.per_address

    def _is_answered_early(self) -> bool:
        """Whether the rest of a body is awaited only to be thrown away."""
        return self.conn.our_state is h11.DONE and self.conn.their_state is h11.SEND_BODY

    def _start_deadline(self) -> None:
        # The bytes that trickle in do not move it.
        if self._deadline is None and not self.transport.is_closing():
            seconds = self.limits.head_seconds
            self._deadline = self.loop.call_later(seconds, self.transport.abort)

    def _stop_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _warn(self) -> None:
        now = self.loop.time()
        if now < self.open.warn_after:
            return
        self.open.warn_after = now + _SECONDS_BETWEEN_WARNINGS
        _log.warning(
            "too many open connections: new ones are closed at once; the last came from %s",
            self._address or "an unknown address",
        )
