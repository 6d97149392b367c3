"""What can go wrong with a Ray cluster, each with a sentence that says what to do.

RayError
├── RayUnreachable      no answer in time; whether a change was made is open
│   └── RayBusy         not asked, since earlier calls still wait
├── RayNotSignedIn      the token is missing or wrong, or the credentials of Kubernetes are
├── NotTheCreator       signed in, and not allowed to open this cluster's dashboard
├── RayClusterNotFound  Kubernetes has no such Ray cluster
├── EndpointNotEnabled  the cluster has no dashboard that can be reached from outside
├── RayRefused          Ray answered a change and said no
│   ├── JobNotFound     no job of that id on this cluster
│   └── JobIdTaken      the id belongs to another job
├── RayVersionTooOld    the cluster speaks an older Jobs API
└── HeadStartError      the embedded head could not be started; nothing of it is left running
"""

from app.errors import SkydeckError


class RayError(SkydeckError):
    """Base of all errors about a Ray cluster."""

    code = "ray_error"
    status = 502


class RayUnreachable(RayError):
    """No usable answer: not listening, cut off, too slow, or an error of its own on a read.

    Whether a change was made is open.
    """

    code = "ray_unreachable"
    status = 503

    def __init__(self, address: str, cause: str) -> None:
        super().__init__(
            f"The Ray cluster at {address} does not answer ({cause}). "
            "Check that it is running and can be reached from here; this is tried again by itself."
        )


class RayBusy(RayUnreachable):
    """Not even asked: earlier calls hang, or are many."""

    code = "ray_busy"

    def __init__(self, address: str) -> None:
        super().__init__(address, "it is still busy with earlier calls")


class RayNotSignedIn(RayError):
    """401 or 403, or an answer that is a sign-in page."""

    code = "ray_not_signed_in"


class NotTheCreator(RayError):
    """Kubernetes knows us and refuses the connection."""

    code = "ray_not_the_creator"

    def __init__(self, address: str, said: str) -> None:
        super().__init__(
            f"We may not open {address}: only the identity that created the Ray cluster may, with "
            "the same role and session name. Give its credentials on the cluster's page, or have "
            "its owner set the annotation access.sagemaker.amazonaws.com/access-strategy to "
            f"ray-access-strategy-public. {said}"
        )


class RayClusterNotFound(RayError):
    """There is no RayCluster of that name in the namespace."""

    code = "ray_cluster_not_found"

    def __init__(self, address: str) -> None:
        super().__init__(
            f"Kubernetes knows no Ray cluster {address}. Check name and namespace "
            "(`kubectl get raycluster -A`), and that the credentials are of the right EKS cluster."
        )


class EndpointNotEnabled(RayError):
    """The operator is not installed, or gives no address for this cluster."""

    code = "ray_endpoint_not_enabled"

    def __init__(self, address: str) -> None:
        super().__init__(
            f"{address} has no dashboard that can be reached from outside. Install the HyperPod "
            "Ray endpoint operator in the EKS cluster, and set the annotation "
            'access.sagemaker.amazonaws.com/enabled: "true" on the Ray cluster.'
        )


class RayRefused(RayError):
    """Ray answered with an error; `detail` is its own last line."""

    code = "ray_refused"

    def __init__(self, message: str, *, detail: str = "") -> None:
        super().__init__(message)
        self.detail = detail


class JobNotFound(RayRefused):
    """The cluster knows no such job: never submitted, deleted, or the head was restarted."""

    code = "ray_job_not_found"
    status = 404

    def __init__(self, submission_id: str) -> None:
        super().__init__(
            f"Ray knows no job {submission_id}. It was deleted, or the Ray head was restarted "
            "since; start a new attempt."
        )


class JobIdTaken(RayRefused):
    """The id is in use by a job with another entrypoint."""

    code = "ray_job_id_taken"
    status = 409

    def __init__(self, submission_id: str) -> None:
        super().__init__(
            f"Another job already has the id {submission_id} on this Ray cluster. "
            "Submit with a new id; ids are never reused."
        )


class RayVersionTooOld(RayError):
    """The cluster's Ray lacks what we call."""

    code = "ray_version_too_old"

    def __init__(self, found: str, wanted: str) -> None:
        super().__init__(
            f"The cluster runs Ray {found}; {wanted} or newer is needed. Upgrade the cluster."
        )


class HeadStartError(RayError):
    """The embedded head could not be started."""

    code = "ray_head_start"
    status = 503
