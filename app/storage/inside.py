"""Opens files below a folder, and never what a link leads to.

Jobs write into these folders while we read them: a name that was checked may be a link a moment
later, so each part of a path is opened by itself, below the folder that is open already.
"""

import io
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePath

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# Without waiting: a pipe would else be waited for until somebody writes into it.
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def open_folder(root: int | str | os.PathLike[str], path: str | PurePath = ".") -> Iterator[int]:
    """The folder `path` below `root`, as a descriptor. `root` itself may be reached by a link, or
    be a descriptor already.

    Raises `ValueError` for a path that leads upwards or elsewhere, `OSError` if it is none.
    """
    parts = PurePath(path).parts
    if PurePath(path).is_absolute() or ".." in parts:
        raise ValueError(f"{path} does not lie below its folder")
    handle = os.dup(root) if isinstance(root, int) else os.open(root, _FOLDER)
    try:
        for part in parts:
            below = os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=handle)
            os.close(handle)
            handle = below
        yield handle
    finally:
        os.close(handle)


def open_file(folder: int, name: str) -> io.BufferedReader:
    """The plain file `name` in an open folder. Raises `OSError`, also for a link or a pipe."""
    handle = os.open(name, _FILE, dir_fd=folder)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(f"{name} is no plain file")
    return os.fdopen(handle, "rb")


def is_file(folder: int, name: str) -> bool:
    """Whether a plain file of that name is there."""
    try:
        return stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return False


def size_of(folder: int, *, most_files: int = 10_000, depth: int = 6) -> int:
    """Bytes in all plain files in and below an open folder, of the first `most_files`."""
    return _size(folder, [most_files], depth)


def _size(folder: int, left: list[int], depth: int) -> int:
    total = 0
    with os.scandir(folder) as entries:
        for entry in entries:
            left[0] -= 1
            if left[0] < 0:
                break
            try:
                total += _size_of_entry(folder, entry, left, depth)
            except OSError:
                continue  # It went while we looked.
    return total


def _size_of_entry(folder: int, entry: os.DirEntry[str], left: list[int], depth: int) -> int:
    if entry.is_dir(follow_symlinks=False) and depth:
        below = os.open(entry.name, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
        try:
            return _size(below, left, depth - 1)
        finally:
            os.close(below)
    found = entry.stat(follow_symlinks=False)
    return found.st_size if stat.S_ISREG(found.st_mode) else 0
