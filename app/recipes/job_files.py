"""The stand-alone programs that travel with a job, as text: they are sent, never imported."""

from functools import cache
from pathlib import Path

# What is sent to a cluster lives beside the worker, which sends it.
_FOLDER = Path(__file__).parents[2] / "worker" / "jobs"


@cache
def read(name: str) -> str:
    """The text of a program by its path below `worker/jobs`."""
    return (_FOLDER / name).read_text(encoding="utf-8")
