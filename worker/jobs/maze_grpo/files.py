"""Writing so that a reader, or a run after a crash, never meets half a file or half a folder."""

import contextlib
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

_UNFINISHED, _REPLACED = ".tmp-", ".old-"
_LEFTOVER = re.compile(r"\.(tmp|old)-.+-[0-9a-f]{8}")


def write(path: Path, data: bytes) -> None:
    """Writes a file whole or not at all: under another name, synced, then renamed."""
    unfinished = path.with_name(f"{_UNFINISHED}{path.name}-{uuid4().hex[:8]}")
    try:
        write_synced(unfinished, data)
        unfinished.replace(path)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def write_synced(path: Path, data: bytes) -> None:
    """Writes a file and waits until the disk has it. Makes the folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


@contextlib.contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """A folder to fill, which becomes `path` when the block ends well, and vanishes otherwise.

    A folder that is at `path` already is replaced.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    tag = uuid4().hex[:8]
    unfinished = path.with_name(f"{_UNFINISHED}{path.name}-{tag}")
    replaced = path.with_name(f"{_REPLACED}{path.name}-{tag}")
    try:
        unfinished.mkdir()
        yield unfinished
        for folder in (unfinished, *filter(Path.is_dir, unfinished.rglob("*"))):
            sync_folder(folder)
        if path.exists():
            path.rename(replaced)
        unfinished.rename(path)
        sync_folder(path.parent)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    shutil.rmtree(replaced, ignore_errors=True)


def remove_leftovers(folder: Path) -> None:
    """Removes what a killed run left half written in `folder`, if that exists."""
    for leftover in folder.iterdir() if folder.is_dir() else ():
        if not _LEFTOVER.fullmatch(leftover.name):
            continue
        if leftover.is_dir():
            shutil.rmtree(leftover, ignore_errors=True)
        else:
            leftover.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Waits until the disk has the names in `folder`."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
