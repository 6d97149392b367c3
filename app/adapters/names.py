"""Names of adapters: write-once, and the last part of the model id that a server gives them."""

import re
from collections.abc import Collection, Iterator
from itertools import count

from app.errors import Invalid, Problem

MAX_NAME = 63
"""Characters: a label of a DNS name, and less than any file system takes."""
_NAME = re.compile(r"[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?", re.ASCII)


def default_name(run: str, step: int) -> str:
    """`run-7fk2m9qd-s280` of a run's slug and a step."""
    return f"{run}-s{step}"


def checked_name(name: str) -> str:
    """The name, which is fit for a folder, a URL and a model id. Raises `Invalid`.

    Lower case only: two names that differ in case alone are one folder on some disks.
    """
    if not _NAME.fullmatch(name):
        message = (
            f"an adapter's name has 1 to {MAX_NAME} of the signs a-z, 0-9, - and _, "
            "and begins and ends with a letter or digit"
        )
        raise Invalid(message, [Problem("adapter_name", "adapter_name", message)])
    return name


def variants(name: str) -> Iterator[str]:
    """`name-2`, `name-3`, … none longer than a name may be."""
    for number in count(2):
        ending = f"-{number}"
        yield name[: MAX_NAME - len(ending)].rstrip("-_") + ending


def free_variant(name: str, taken: Collection[str]) -> str:
    """The first variant that nobody has."""
    return next(each for each in variants(name) if each not in taken)
