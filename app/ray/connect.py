"""Opens gateways to clusters that people registered, by their address and credentials."""

import ssl

from app.k8s.dashboard import MakeClient
from app.k8s.eks import EksAccess
from app.k8s.point import EksCluster, FixedKube, KubeAccess, KubePoint
from app.outgoing.client import Limits, RuleSource, guarded_client
from app.ray.address import ClusterAddress, EndpointAddress, HttpAddress
from app.ray.circuit import Circuit
from app.ray.client import CHANGE_SECONDS, MOST_BYTES, READ_SECONDS, RayClient
from app.ray.hyperpod import HyperpodLogin
from app.ray.login import FixedLogin, Logins
from app.ray.target import Target

LIMITS = Limits(
    connect_seconds=5.0,
    read_seconds=CHANGE_SECONDS,
    total_seconds=CHANGE_SECONDS + 30,
    body_bytes=MOST_BYTES,
)


def guarded_clients(rules: RuleSource) -> MakeClient:
    """Makes clients that call what `rules` allow, within the limits of calls to clusters."""
    return lambda tls: guarded_client(rules, limits=LIMITS, tls=tls)


class Connector:
    """Opens clients. `session_name`: what our sessions of an AWS role are called."""

    def __init__(self, make_client: MakeClient, *, session_name: str) -> None:
        self._make_client = make_client
        self._session_name = session_name

    def open(
        self,
        target: Target,
        *,
        circuit: Circuit | None = None,
        read_seconds: float = READ_SECONDS,
        change_seconds: float = CHANGE_SECONDS,
    ) -> RayClient:
        """A client with connections, threads and sessions of its own; nothing is called yet."""
        http = self._make_client(
            ssl.create_default_context(cadata=target.ca) if target.ca else None
        )
        if isinstance(target.address, HttpAddress):
            token = target.credential if isinstance(target.credential, str) else None
            logins: Logins = FixedLogin(target.address.url, token)
        else:
            kube = self.kube(target)
            logins = HyperpodLogin(target.address, kube, http, self._make_client)
        return RayClient(
            logins,
            http,
            circuit=circuit,
            read_seconds=read_seconds,
            change_seconds=change_seconds,
        )

    def kube(self, target: Target) -> KubeAccess:
        """The Kubernetes API of a HyperPod cluster. Raises `TypeError` for other credentials."""
        assert isinstance(target.address, ClusterAddress | EndpointAddress)
        if isinstance(target.credential, EksCluster):
            return EksAccess(target.credential, self._make_client, session_name=self._session_name)
        if isinstance(target.credential, KubePoint):
            return FixedKube(target.credential)
        raise TypeError("a HyperPod cluster needs credentials of Kubernetes")
