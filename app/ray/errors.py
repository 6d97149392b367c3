"""What can go wrong with a Ray cluster, each with a sentence that says what to do.

RayError
├── RayUnreachable      no answer in time; `is_unclear` if a change may still have happened
├── RayNotSignedIn      the token is missing or wrong
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


class RayNotSignedIn(RayError):
    """401 or 403."""

    code = "ray_not_signed_in"

    def __init__(self, address: str, *, has_token: bool) -> None:
        fix = "Set the right token" if has_token else "Set a token"
        what = "refused our token" if has_token else "asks for a token"
        super().__init__(f"The Ray cluster at {address} {what}. {fix} on the cluster's page.")


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
