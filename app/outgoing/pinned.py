"""Connects to checked addresses only, by a network backend of httpcore.

The pool keeps the name: it sorts connections by it, and the Host header, the TLS server name and
the check of the certificate stay those of the name. Only the socket goes to the address. Putting
the address into the URL instead would let two names on one address share a TLS connection.
"""

import asyncio
import select
import ssl
from collections.abc import Iterable, Sequence
from typing import Any

import httpcore

from app.outgoing.address import Target, parse_host
from app.outgoing.gate import Gate
from app.outgoing.zones import IPAddress

_MOST_TRIED = 4
SocketOptions = Iterable[Any] | None


class PinnedBackend(httpcore.AsyncNetworkBackend):
    """Opens connections for URLs of one scheme; `network` is what really connects."""

    def __init__(self, scheme: str, gate: Gate, network: httpcore.AsyncNetworkBackend) -> None:
        self._scheme = scheme
        self._gate = gate
        self._network = network

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's signature
        local_address: str | None = None,
        socket_options: SocketOptions = None,
    ) -> httpcore.AsyncNetworkStream:
        """The first of the checked addresses that answers, within `timeout` for all of them."""
        target = Target(self._scheme, parse_host(host), port)
        addresses = await self._gate.check(target)
        try:
            async with asyncio.timeout(timeout):
                address, stream = await self._first(addresses, port, socket_options)
        except TimeoutError as error:
            raise httpcore.ConnectTimeout("no connection in time") from error
        return PinnedStream(stream, self._gate, target, address)

    async def _first(
        self, addresses: Sequence[IPAddress], port: int, options: SocketOptions
    ) -> tuple[IPAddress, httpcore.AsyncNetworkStream]:
        failure: Exception | None = None
        for address in addresses[:_MOST_TRIED]:
            try:
                stream = await self._network.connect_tcp(str(address), port, socket_options=options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = failure or error
            else:
                return address, stream
        raise failure or httpcore.ConnectError("no address")


class PinnedStream(httpcore.AsyncNetworkStream):
    """A connection that is not used again once its address is no longer allowed."""

    def __init__(
        self,
        stream: httpcore.AsyncNetworkStream,
        gate: Gate,
        target: Target,
        address: IPAddress,
    ) -> None:
        self._stream = stream
        self._gate = gate
        self._target = target
        self._address = address
        # Asked for once: to find it takes the stream longer than all else of `is_readable`.
        self._socket: Any = stream.get_extra_info("socket")

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        return await self._stream.read(max_bytes, timeout)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> httpcore.AsyncNetworkStream:
        secured = await self._stream.start_tls(ssl_context, server_hostname, timeout)
        return PinnedStream(secured, self._gate, self._target, self._address)

    def get_extra_info(self, info: str) -> Any:
        # The pool drops an idle connection that is readable: the other side has closed it. It
        # asks before each use, so here a connection that is no longer allowed ends too.
        if info != "is_readable":
            return self._stream.get_extra_info(info)
        if not self._gate.is_open(self._target, self._address):
            return True
        if self._socket is None:
            return self._stream.get_extra_info(info)
        return _is_readable(self._socket.fileno())


def _is_readable(descriptor: int) -> bool:
    """A closed one is, too."""
    if descriptor < 0:
        return True
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))
