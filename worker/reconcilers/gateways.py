"""The connections to clusters that a worker keeps open."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from uuid import UUID

from app.clusters.registry import ClusterAccess
from app.ray.circuit import Circuit
from app.ray.client import RayClient
from app.ray.connect import Connector
from app.ray.errors import RayNotSignedIn, RayUnreachable
from app.ray.gateway import RayGateway
from app.ray.head_state import read_head_state, read_head_token


class Gateways(Protocol):
    """Where reconcilers get the gateway of a cluster from."""

    def get(self, access: ClusterAccess) -> RayGateway:
        """Raises `RayUnreachable` if nobody knows where the cluster is, `RayNotSignedIn` if its
        credential cannot be had.
        """
        ...


@dataclass(frozen=True, slots=True)
class _Open:
    """`key`: what the connection was made with; another one wants another connection."""

    key: object
    client: RayClient


class OpenGateways:
    """One connection for each cluster, with threads, session and circuit of its own.

    It is renewed when address or credential change, or a new embedded head starts.
    """

    def __init__(self, home: Path, connector: Connector) -> None:
        self._home = home
        self._connector = connector
        self._open: dict[UUID, _Open] = {}
        self._used: set[UUID] = set()
        self._old: list[RayClient] = []
        self._leaving: list[RayClient] = []

    def get(self, access: ClusterAccess) -> RayGateway:
        """The embedded cluster's address and token are read from its files at each call."""
        if access.trouble:
            raise RayNotSignedIn(access.trouble)
        self._used.add(access.id)
        if access.target is None:
            return self._embedded(access)
        found = self._open.get(access.id)
        if found is None or found.key != access.target:
            client = self._connector.open(access.target, circuit=Circuit())
            self._put(access.id, access.target, client)
        return self._open[access.id].client

    async def close_old(self) -> None:
        """Closes those that were left before the last call of this: nobody waits on them any more.

        Call it more seldom than a call to Ray may take.
        """
        leaving, self._leaving, self._old = self._leaving, self._old, []
        for client in leaving:
            await client.aclose()
        for id_ in self._open.keys() - self._used:
            self._old.append(self._open.pop(id_).client)
        self._used.clear()

    async def aclose(self) -> None:
        """Closes all."""
        self._old += [each.client for each in self._open.values()]
        self._open.clear()
        await self.close_old()
        await self.close_old()

    def _embedded(self, access: ClusterAccess) -> RayClient:
        state, token = read_head_state(self._home), read_head_token(self._home)
        if state is None or token is None:
            raise RayUnreachable(access.address, "it has not been started yet")
        found, key = self._open.get(access.id), (state.address, token)
        if found is None or found.key != key:
            self._put(access.id, key, RayClient.embedded(state.address, token=token))
        return self._open[access.id].client

    def _put(self, id_: UUID, key: object, client: RayClient) -> None:
        if id_ in self._open:
            self._old.append(self._open[id_].client)
        self._open[id_] = _Open(key, client)
