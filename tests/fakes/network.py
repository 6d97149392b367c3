"""The internet in small: public addresses that are servers on this machine."""

from collections.abc import Mapping
from typing import Any

import httpcore


class SmallInternet(httpcore.AsyncNetworkBackend):
    """Connects to `hosts[address]`, a port of 127.0.0.1; other addresses do not answer.

    `connected` notes each address and port that was connected to, as asked for.
    """

    def __init__(self, hosts: Mapping[str, int]) -> None:
        self._hosts = hosts
        self._real = httpcore.AnyIOBackend()
        self.connected: list[tuple[str, int]] = []

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's signature
        local_address: str | None = None,
        socket_options: Any = None,
    ) -> httpcore.AsyncNetworkStream:
        self.connected.append((host, port))
        if host not in self._hosts:
            raise httpcore.ConnectError("nobody answers")
        return await self._real.connect_tcp("127.0.0.1", self._hosts[host], timeout=timeout)
