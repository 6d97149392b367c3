"""The transport of httpx through which every call to another host goes."""

import logging
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import httpcore
import httpx

from app.outgoing.address import DEFAULT_PORTS, Target, target_of
from app.outgoing.body import ENCODINGS, LimitedStream
from app.outgoing.errors import (
    AddressRefused,
    AnswerTooLarge,
    AnswerUnreadable,
    RedirectRefused,
)
from app.outgoing.gate import Gate
from app.outgoing.journey import Journey
from app.outgoing.pinned import PinnedBackend

Headers = list[tuple[bytes, bytes]]

_logger = logging.getLogger(__name__)
_KEEP_ALIVE_SECONDS = 15.0
_CONNECTIONS = 50
_REMOVED = frozenset((b"content-encoding", b"content-length"))
_OWN = frozenset((b"host", b"accept-encoding"))
# h11's sentence for headers beyond what httpcore lets it collect (100 KiB).
_H11_TOO_LARGE = "Receive buffer too long"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Of one call. `read_seconds` is between two pieces, `total_seconds` from start to end;
    `body_bytes` counts the body as sent and as unpacked."""

    connect_seconds: float = 5.0
    read_seconds: float = 30.0
    total_seconds: float | None = 120.0
    body_bytes: int = 16 * 1024**2
    header_bytes: int = 32 * 1024


class GuardedTransport(httpx.AsyncBaseTransport):
    """Sends what its gate lets through. Raises `OutgoingError` or another `httpx.TransportError`.

    `tls` None means: trust the public authorities. `network` really connects; tests replace it.
    """

    def __init__(
        self,
        gate: Gate,
        *,
        limits: Limits,
        redirects: int = 0,
        tls: ssl.SSLContext | None = None,
        network: httpcore.AsyncNetworkBackend | None = None,
    ) -> None:
        self._gate = gate
        self._limits = limits
        self._redirects = redirects
        connecting = network or httpcore.AnyIOBackend()
        # One pool a scheme: a connection alone does not tell whether TLS will follow.
        self._pools = {
            scheme: httpcore.AsyncConnectionPool(
                ssl_context=tls,
                max_connections=_CONNECTIONS,
                keepalive_expiry=_KEEP_ALIVE_SECONDS,
                network_backend=PinnedBackend(scheme, gate, connecting),
            )
            for scheme in DEFAULT_PORTS
        }

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        journey = Journey.of(request, self._limits.total_seconds)
        journey.check(self._redirects)
        try:
            target = target_of(request.url)
            async with journey.deadline.enforced():
                await self._gate.refresh()
                answer = await self._send(request, target)
        except AddressRefused as error:
            _logger.info("outgoing call refused: %s", error.message)
            if journey.before is None:
                raise
            previous = journey.before.request.url.host
            raise RedirectRefused(
                f"{previous} redirects to where Skydeck does not go. {error.message}",
                rule=error.rule,
            ) from error
        return await self._limited(answer, request, journey)

    async def aclose(self) -> None:
        for pool in self._pools.values():
            await pool.aclose()

    async def _send(self, request: httpx.Request, target: Target) -> httpcore.Response:
        core = httpcore.Request(
            method=request.method,
            url=httpcore.URL(
                scheme=request.url.raw_scheme,
                host=request.url.raw_host,
                port=request.url.port,
                target=request.url.raw_path,
            ),
            headers=_sent(request),
            content=cast("httpx.AsyncByteStream", request.stream),
            extensions={"timeout": request.extensions.get("timeout", {})},
        )
        try:
            with _errors_of_httpx():
                return await self._pools[target.scheme].handle_async_request(core)
        except httpx.RemoteProtocolError as error:
            if _H11_TOO_LARGE not in str(error):
                raise
            raise self._headers_too_large(request) from error

    async def _limited(
        self, answer: httpcore.Response, request: httpx.Request, journey: Journey
    ) -> httpx.Response:
        stream = _CoreStream(answer.stream)
        try:
            encoding = self._check(answer, request)
        except BaseException:
            await stream.aclose()
            raise
        is_packed = encoding not in ("", "identity")
        headers = [pair for pair in answer.headers if not (is_packed and _is_removed(pair[0]))]
        return httpx.Response(
            answer.status,
            headers=headers,
            stream=LimitedStream(
                stream,
                host=request.url.host,
                limit=self._limits.body_bytes,
                is_gzip=is_packed and request.method != "HEAD",
                deadline=journey.deadline,
            ),
            # Not the socket itself, which httpcore hands out too.
            extensions={
                name: answer.extensions[name] for name in ("http_version", "reason_phrase")
            },
        )

    def _check(self, answer: httpcore.Response, request: httpx.Request) -> str:
        """How the body is packed. Raises for an answer that is not worth reading."""
        host, limits = request.url.host, self._limits
        if sum(len(name) + len(value) for name, value in answer.headers) > limits.header_bytes:
            raise self._headers_too_large(request)
        encoding = _field(answer.headers, b"content-encoding").strip().lower()
        if encoding not in ENCODINGS:
            raise AnswerUnreadable(host, "it is packed in a way that was not asked for")
        length = _field(answer.headers, b"content-length")
        is_long = length.isascii() and length.isdigit() and int(length) > limits.body_bytes
        if is_long and request.method != "HEAD":
            raise AnswerTooLarge(host, "body", limits.body_bytes)
        return encoding

    def _headers_too_large(self, request: httpx.Request) -> AnswerTooLarge:
        return AnswerTooLarge(request.url.host, "head", self._limits.header_bytes)


class _CoreStream(httpx.AsyncByteStream):
    """A stream of httpcore with the errors of httpx."""

    def __init__(self, source: Any) -> None:
        self._source = source

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _errors_of_httpx():
            async for chunk in self._source:
                yield chunk

    async def aclose(self) -> None:
        await self._source.aclose()


@contextmanager
def _errors_of_httpx() -> Iterator[None]:
    """Both libraries call the same failures by the same names."""
    try:
        yield
    except (
        httpcore.TimeoutException,
        httpcore.NetworkError,
        httpcore.ProtocolError,
        httpcore.UnsupportedProtocol,
    ) as error:
        kind = getattr(httpx, type(error).__name__, httpx.TransportError)
        raise kind(str(error)) from error


def _sent(request: httpx.Request) -> Headers:
    """The request's headers, with those that are the transport's to say.

    Its `httpx.Headers` are left alone: each look into them reads all of them anew.
    """
    others = [pair for pair in request.headers.raw if pair[0].lower() not in _OWN]
    return [(b"Host", request.url.netloc), *others, (b"Accept-Encoding", b"gzip")]


def _field(headers: Headers, name: bytes) -> str:
    """All that was said by this name; empty if nothing was."""
    return b", ".join(value for key, value in headers if key.lower() == name).decode("latin-1")


def _is_removed(name: bytes) -> bool:
    return name.lower() in _REMOVED
