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
        self._open: dict[tuple[str, str], RayClient] = {}

    def get(self, kind: ClusterKind, address: str) -> RayGateway:
        """The embedded cluster's address and token are read from its files at each call."""
        state, token = read_head_state(self._home), read_head_token(self._home)
        if state is None or token is None:
            raise RayUnreachable(address, "it has not been started yet")
        key = (state.address, token)
        if key not in self._open:
            self._open[key] = RayClient(state.address, token=token)
        return self._open[key]

    async def aclose(self) -> None:
        for client in self._open.values():
            await client.aclose()
