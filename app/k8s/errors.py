"""What can go wrong between us and a Kubernetes API, each with what to do about it.

KubeError
├── KubeUnreachable    no usable answer, or one that says try again later
├── KubeNotSignedIn    the token was refused
├── KubeForbidden      signed in, and not allowed
├── KubeNotFound       no such thing; `lacks_api`: not even that kind of thing
├── KubeRefused        any other refusal
└── AwsRefused         AWS gives no EKS token for these keys
"""

from app.errors import SkydeckError


class KubeError(SkydeckError):
    """Base of all errors about a Kubernetes API."""

    code = "kubernetes_error"
    status = 502


class KubeUnreachable(KubeError):
    code = "kubernetes_unreachable"
    status = 503

    def __init__(self, server: str, cause: str) -> None:
        super().__init__(
            f"The Kubernetes API at {server} does not answer ({cause}). Check that it can be "
            "reached from here; this is tried again by itself."
        )


class KubeNotSignedIn(KubeError):
    code = "kubernetes_not_signed_in"


class KubeForbidden(KubeError):
    code = "kubernetes_forbidden"


class KubeNotFound(KubeError):
    """`lacks_api`: the server has no resource of this kind."""

    code = "kubernetes_not_found"

    def __init__(self, message: str, *, lacks_api: bool) -> None:
        super().__init__(message)
        self.lacks_api = lacks_api


class KubeRefused(KubeError):
    code = "kubernetes_refused"


class AwsRefused(KubeError):
    code = "aws_refused"


class BadKubeconfig(ValueError):
    """An uploaded kubeconfig that is not taken; the message says why, and what would be."""
