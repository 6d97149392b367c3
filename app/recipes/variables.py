"""Names of environment variables that a job's starter needs for itself. Pure."""

import re

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Skydeck and Ray steer the job by theirs; the others decide which programs start, and how.
_TAKEN_HEADS = ("SKYDECK_", "RAY_", "LD_", "DYLD_", "BASH_")
_TAKEN = frozenset(
    {"PATH", "HOME", "SHELL", "USER", "PWD", "OLDPWD", "IFS", "ENV", "TZ", "PYTHONHOME"}
)
LONGEST_NAME = 200


def name_problem(name: str) -> str | None:
    """Why a config may not set this variable, as a sentence; None where it may."""
    if not _NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        return f"{name[:LONGEST_NAME]!r} is no name of an environment variable"
    if name in _TAKEN or name.startswith(_TAKEN_HEADS):
        return f"{name} steers Skydeck, Ray or the job's own start, which set it themselves"
    return None
