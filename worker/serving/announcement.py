"""`<home>/endpoint.json`: where the embedded endpoint is, and its key, for other processes."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FILE_NAME = "endpoint.json"


@contextmanager
def announced(home: Path, *, port: int, key: str) -> Iterator[str]:
    """Writes `{"base_url", "key", "pid"}`, for this user alone, at once or not at all.

    Yields the base URL. At the end the file is removed, unless another process's took its place.
    Raises `OSError`.
    """
    base_url, pid = f"http://127.0.0.1:{port}/v1", os.getpid()
    _write(home / FILE_NAME, {"base_url": base_url, "key": key, "pid": pid})
    try:
        yield base_url
    finally:
        _remove(home / FILE_NAME, pid)


def _write(file: Path, value: dict[str, object]) -> None:
    unfinished = file.with_name(f".tmp-{file.name}-{os.getpid()}")
    unfinished.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    try:
        with os.fdopen(os.open(unfinished, flags, 0o600), "w") as out:
            json.dump(value, out)
        unfinished.replace(file)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise


def _remove(file: Path, pid: int) -> None:
    try:
        if json.loads(file.read_bytes()).get("pid") == pid:
            file.unlink()
    except (OSError, ValueError, AttributeError):
        return
