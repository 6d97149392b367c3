"""Where a Kubernetes API is, and what proves who we are."""

from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class KubePoint:
    """`server` is its URL without a slash at the end; `ca` its authority in PEM, empty for a
    public one."""

    server: str
    ca: str
    token: str = field(repr=False)


class KubeAccess(Protocol):
    """Credentials of one EKS cluster."""

    async def point(self, *, fresh: bool = False) -> KubePoint:
        """With a token that is valid for minutes. Raises `KubeError`.

        `fresh`: the last one was refused, so nothing remembered is good any more.
        """
        ...

    async def aclose(self) -> None: ...


class FixedKube:
    """A server and a token that somebody gave us, as in a kubeconfig."""

    def __init__(self, point: KubePoint) -> None:
        self._point = point

    async def point(self, *, fresh: bool = False) -> KubePoint:
        return self._point

    async def aclose(self) -> None:
        return
