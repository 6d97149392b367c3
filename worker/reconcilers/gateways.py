"""The connections to clusters that a worker keeps open."""

from pathlib import Path
from typing import Protocol

from app.models import ClusterKind
from app.ray.client import RayClient
from app.ray.errors import RayUnreachable
from app.ray.gateway import RayGateway
from app.ray.head_state import read_head_state, read_head_token


class Gateways(Protocol):
    """Where reconcilers get the gateway of a cluster from."""

    def get(self, kind: ClusterKind, address: str) -> RayGateway:
        """Raises `RayUnreachable` if nobody knows where the cluster is."""
        ...


class OpenGateways:
    """One connection for each head; that of an embedded head is renewed when a new one starts."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._current: tuple[tuple[str, str], RayClient] | None = None
        self._old: list[RayClient] = []
        self._leaving: list[RayClient] = []

    def get(self, kind: ClusterKind, address: str) -> RayGateway:
        """The embedded cluster's address and token are read from its files at each call."""
        state, token = read_head_state(self._home), read_head_token(self._home)
        if state is None or token is None:
            raise RayUnreachable(address, "it has not been started yet")
        key = (state.address, token)
        if self._current is None or self._current[0] != key:
            if self._current is not None:
                self._old.append(self._current[1])
            self._current = (key, RayClient.embedded(state.address, token=token))
        return self._current[1]

    async def close_old(self) -> None:
        """Closes those that were left before the last call of this: nobody waits on them any more.

        Call it more seldom than a call to Ray may take.
        """
        leaving, self._leaving, self._old = self._leaving, self._old, []
        for client in leaving:
            await client.aclose()

    async def aclose(self) -> None:
        """Closes all."""
        await self.close_old()
        await self.close_old()
        if self._current is not None:
            await self._current[1].aclose()
