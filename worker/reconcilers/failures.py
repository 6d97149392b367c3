"""Why an attempt did not succeed, as pages show it: `{class, message, evidence, hint}`."""

from typing import Any

from app.logs import ansi
from app.ray.errors import RayRefused
from app.ray.gateway import JobInfo

_EVIDENCE_LINES = 10
_EVIDENCE_CHARS = 2_000
_RESUME = "Resume the run: it goes on from its newest checkpoint."


def job_failed(job: JobInfo) -> dict[str, Any]:
    """The job's program ended with an error, or could not be started."""
    if job.error_type and job.driver_exit_code is None:
        message = f"Ray could not run the job ({job.error_type})"
    else:
        message = f"The job ended with {_exit(job.driver_exit_code)}"
    return _failure("job_failed", message, _tail(job.message), "Its log says why, near the end.")


def job_refused(refusal: RayRefused) -> dict[str, Any]:
    """Ray did not take the job."""
    hint = "Check the cluster's page, then resume the run."
    return _failure("submission_refused", refusal.message, refusal.detail, hint)


def head_restarted(before: str, after: str) -> dict[str, Any]:
    """The head that ran the job is gone, and the job with it."""
    message = "The Ray head was restarted while the job ran, which ended the job"
    return _failure("head_restarted", message, f"session {before} is now {after}", _RESUME)


def job_forgotten(submission_id: str) -> dict[str, Any]:
    """The same head does not know the job any more."""
    message = f"Ray no longer knows the job {submission_id}: somebody deleted it"
    return _failure("job_deleted", message, "", _RESUME)


def _failure(kind: str, message: str, evidence: str, hint: str) -> dict[str, Any]:
    return {"class": kind, "message": message, "evidence": evidence, "hint": hint}


def _exit(code: int | None) -> str:
    if code is None:
        return "an error"
    # The shell reports a child's signal as 128 + n; `exec` leaves it to Python as -n.
    signal = -code if code < 0 else code - 128
    return f"signal {signal}" if 0 < signal < 65 else f"exit code {code}"


def _tail(message: str) -> str:
    lines = ansi.strip(message.replace("\r", "\n")).splitlines()
    kept = [line for line in lines if line.strip()][-_EVIDENCE_LINES:]
    return "\n".join(kept)[-_EVIDENCE_CHARS:]
