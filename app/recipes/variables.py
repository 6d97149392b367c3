"""Environment variables of jobs: which we give, and which a config may not. Pure."""

import re
from collections.abc import Mapping

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Skydeck and Ray steer the job by theirs; the others decide which programs start, and how.
_TAKEN_HEADS = ("SKYDECK_", "RAY_", "LD_", "DYLD_", "BASH_")
_TAKEN = frozenset(
    {"PATH", "HOME", "SHELL", "USER", "PWD", "OLDPWD", "IFS", "ENV", "TZ", "PYTHONHOME"}
)
LONGEST_NAME = 200
OF_EACH_JOB: Mapping[str, str] = {
    # Seconds that a stopped trainer has to save its state before Ray kills it.
    "RAY_JOB_STOP_WAIT_TIME_S": "60",
    "PYTHONUNBUFFERED": "1",
    # A log names no zone; the log reconciler reads its times as UTC.
    "TZ": "UTC",
}
"""What every job is given, whoever submits it."""
OF_EACH_PACKAGE: Mapping[str, str] = {
    **OF_EACH_JOB,
    # Ray would else leave out lines that repeat, and put colours before those of its workers.
    "RAY_DEDUP_LOGS": "0",
    "RAY_COLOR_PREFIX": "0",
}
"""The same, for a job that comes as a package of files."""


def name_problem(name: str) -> str | None:
    """Why a config may not set this variable, as a sentence; None where it may."""
    if not _NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        return f"{name[:LONGEST_NAME]!r} is no name of an environment variable"
    if name in _TAKEN or name.startswith(_TAKEN_HEADS):
        return f"{name} steers Skydeck, Ray or the job's own start, which set it themselves"
    return None


def for_every_process(environment: Mapping[str, str]) -> dict[str, str]:
    """Which of a config's variables Ray gives to all processes of a job.

    Ray puts other variables in for `$NAME` in a value: one with that sign is the script's alone.
    """
    return {name: value for name, value in environment.items() if "$" not in value}
