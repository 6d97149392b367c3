"""Where a Kubernetes API is, and what proves who we are."""

import re
from dataclasses import dataclass, field
from typing import Protocol

REGION = re.compile(r"[a-z]{2}(-[a-z]+){1,3}-[0-9]{1,2}")
EKS_NAME = re.compile(r"[0-9A-Za-z][A-Za-z0-9_-]{0,99}")
ROLE_ARN = re.compile(r"arn:aws[a-z-]*:iam::[0-9]{12}:role/[\w+=,.@/-]{1,512}")
ACCESS_KEY = re.compile(r"AKIA[A-Z0-9]{12,124}")


@dataclass(frozen=True, slots=True)
class KubePoint:
    """`server` is its URL without a slash at the end; `ca` its authority in PEM, empty for a
    public one."""

    server: str
    ca: str
    token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class EksCluster:
    """Without an access key, the machine's own role is taken, by boto3's usual search for one.

    `role_arn` empty: no other role is assumed.
    """

    name: str
    region: str
    role_arn: str = ""
    access_key_id: str = ""
    secret_access_key: str = field(default="", repr=False)


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
