"""Why an attempt did not succeed, as pages show it: `{class, message, evidence, hint}`."""

import errno
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.errors import SkydeckError
from app.logs.parsers.diagnosis import Failure, FailureClass, diagnose
from app.logs.parsers.records import storable
from app.ray.errors import JobIdTaken, RayRefused
from app.ray.gateway import JobInfo
from app.secrets.masking import Masker

_RESUME = "Resume the run: it goes on from its newest checkpoint."
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A job that cannot be submitted, and the failure it ends with unless that changes in time.

    `is_final`: it will not change.
    """

    failure: dict[str, Any]
    is_final: bool = False

    @property
    def message(self) -> str:
        return str(self.failure["message"])


def refused_by_ray(refusal: RayRefused) -> Refusal:
    """Ray did not take the job."""
    hint = "Check the cluster's page, then resume the run."
    failure = _failure("submission_refused", refusal.message, [refusal.detail], hint)
    return Refusal(failure, is_final=isinstance(refusal, JobIdTaken))


def not_built(error: Exception) -> Refusal:
    """The run's config and recipe give no job, as after an upgrade that dropped the recipe."""
    said = error.message if isinstance(error, SkydeckError) else f"{type(error).__name__}: {error}"
    message = f"The job could not be made from the run's configuration: {said}"
    hint = "Launch a new run from the recipes that this version offers."
    return Refusal(_failure(FailureClass.CONFIG_ERROR, message, [], hint))


def no_secrets(error: SkydeckError) -> Refusal:
    """The job's secrets cannot be read now: a key is missing."""
    hint = "An administrator restores the key file; `skydeck doctor` says which. Then resume."
    return Refusal(_failure("secret_unreadable", error.message, [], hint))


def no_code(error: SkydeckError) -> Refusal:
    """The uploaded code cannot be given to the job, today or later."""
    message = f"The job's code cannot be packed: {error.message}"
    hint = "Upload the zip again, then resume the run; or launch a new one with other code."
    return Refusal(_failure("no_code", message, [], hint), is_final=True)


def not_allowed(message: str, hint: str) -> Refusal:
    """What was allowed at the launch is allowed no more."""
    return Refusal(_failure("not_allowed", message, [], hint), is_final=True)


def masked(failure: dict[str, Any], masker: Masker) -> dict[str, Any]:
    """The failure without any secret: Ray's words may quote a log, or a job's environment."""
    return {
        key: [masker.text(line) for line in value]
        if isinstance(value, list)
        else masker.text(str(value))
        for key, value in failure.items()
    }


def not_written(folder: Path, error: OSError) -> Refusal:
    """The job's files could not be put into the run's folder."""
    reason = error.strerror or str(error)
    if error.errno in _FULL:
        kind, message = FailureClass.DISK_FULL.value, f"The disk of {folder} is full ({reason})"
        hint = "Free space there, then resume the run."
    else:
        kind = "folder_unwritable"
        message = f"The run's folder {folder} cannot be written ({reason})"
        hint = "Fix its permissions, then resume the run."
    return Refusal(_failure(kind, message, [str(error)], hint))


def job_failed(job: JobInfo) -> dict[str, Any]:
    """The job's program ended with an error, by what Ray says, which quotes the log's end."""
    quoted = job.message.encode("utf-8", "replace")
    found = diagnose(quoted, exit_code=job.driver_exit_code, message=job.message)
    failure = _diagnosed(found)
    if found.failure_class is FailureClass.UNKNOWN and job.error_type and not job.driver_exit_code:
        failure["message"] = f"Ray could not run the job ({storable(job.error_type)})"
    return failure


def from_log(before: dict[str, Any], tail: bytes, *, exit_code: int | None) -> dict[str, Any]:
    """The failure by the stored log's end; `before`, from Ray's words, where that tells no more."""
    found = diagnose(tail, exit_code=exit_code)
    is_vague = found.failure_class is FailureClass.UNKNOWN and exit_code is None
    return before if is_vague or not tail else _diagnosed(found)


def head_restarted(before: str, after: str) -> dict[str, Any]:
    """The head that ran the job is gone, and the job with it."""
    message = "The Ray head was restarted while the job ran, which ended the job"
    return _failure("head_restarted", message, [f"session {before} is now {after}"], _RESUME)


def job_forgotten(submission_id: str) -> dict[str, Any]:
    """The same head does not know the job any more."""
    message = f"Ray no longer knows the job {submission_id}: somebody deleted it"
    return _failure("job_deleted", message, [], _RESUME)


def _diagnosed(found: Failure) -> dict[str, Any]:
    return _failure(found.failure_class, found.message, list(found.evidence), found.hint)


def _failure(kind: str, message: str, evidence: list[str], hint: str) -> dict[str, Any]:
    return {
        "class": str(kind),
        "message": storable(message),
        "evidence": [storable(line) for line in evidence if line],
        "hint": hint,
    }
