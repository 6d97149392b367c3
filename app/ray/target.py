"""A registered cluster with all that is needed to call it."""

from dataclasses import dataclass, field

from app.k8s.point import EksCluster, KubePoint
from app.ray.address import HttpAddress, HyperpodAddress

Credential = str | EksCluster | KubePoint | None
"""A bearer token for a dashboard; an EKS cluster with AWS keys; what a kubeconfig held; nothing."""


@dataclass(frozen=True, slots=True)
class Target:
    """A cluster with all that is needed to call it.

    `ca`: the authority of the dashboard's certificate in PEM; empty for a public one.
    """

    address: HttpAddress | HyperpodAddress
    credential: Credential = field(default=None, repr=False)
    ca: str = ""
