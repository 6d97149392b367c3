"""What a path says about where its files lie."""

import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from pathlib import PurePosixPath

CLOUD = ("s3://", "gs://", "gcs://")
_NODE_LOCAL = ("/tmp", "/var", "/root", "/home", "/dev", "/run", "/scratch", "/local", "/opt")  # noqa: S108
_STEP = re.compile(r"global_step_(\d{1,12})")
_LONGEST_NAME = 80
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def is_cloud(path: str) -> bool:
    """As SkyRL's `is_cloud_path`. Raises `AttributeError` for what is no text, as SkyRL does."""
    return path.startswith(CLOUD)


def is_node_local(path: str, shared: Collection[str]) -> bool:
    """Whether a path surely lies on one node: in a home or temporary folder, or relative."""
    if is_cloud(path) or is_below(path, shared):
        return False
    return not path.startswith("/") or is_below(path, _NODE_LOCAL)


def is_below(path: str, folders: Collection[str]) -> bool:
    """Whether a path is one of the folders or lies below one."""
    own = _parts(path)
    return any(own[: len(parts)] == parts for parts in map(_parts, folders))


@lru_cache(maxsize=64)
def _parts(path: str) -> tuple[str, ...]:
    return PurePosixPath(path).parts


def same_folder(one: str, other: str) -> bool:
    """Whether two paths name the same folder, as far as their text says."""
    return one.rstrip("/") == other.rstrip("/")


def step_of(path: str) -> int | None:
    """The step of a checkpoint's folder, from its last part as SkyRL reads it; None if none."""
    found = _STEP.search(PurePosixPath(path).name)
    return None if found is None else int(found[1])


def free_folder(base: str, name: str, taken: Mapping[str, str] | Collection[str]) -> str:
    """A folder below `base` for `name` that is not among those taken."""
    safe = _UNSAFE.sub("-", name[:_LONGEST_NAME]).strip("-.") or "run"
    number = 1
    while True:
        folder = f"{base}/{safe}" + (f"-{number}" if number > 1 else "")
        if not any(is_below(each, (folder,)) for each in taken):
            return folder
        number += 1
