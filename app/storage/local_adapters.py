"""Adapters in folders of this machine: `<root>/<name>/` with two files, for the embedded endpoint.

`<root>/.claims/<name>` says whose a name is; `<root>/.deleted/` holds what was removed. Files come
to their names by `link`, which never replaces anything, after their bytes are on the disk.
"""

import errno
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from app.storage.adapter_store import (
    FileFacts,
    NameTaken,
    Progress,
    SourceChanged,
    StorageError,
    StorageFull,
)

_PIECE = 2**20
_CLAIMS, _DELETED, _UNFINISHED = ".claims", ".deleted", ".unfinished-"
_FULL = (errno.ENOSPC, errno.EDQUOT)


class LocalAdapterStore:
    """An `AdapterStore` in a folder, which need not be there yet. Names hold no path."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def claim(self, name: str, owner: str) -> None:
        with _said(name):
            claims = self._root / _CLAIMS
            claims.mkdir(parents=True, exist_ok=True)
            if not (claims / name).exists() and (self._root / name).exists():
                raise NameTaken(f"{self._root / name} is there already, and is none of ours")
            unfinished = claims / f"{_UNFINISHED}{name}-{uuid4().hex[:8]}"
            _write(unfinished, owner.encode())
            try:
                _link(unfinished, claims / name)
            except FileExistsError:
                # What the claim says decides, below.
                pass
            finally:
                unfinished.unlink(missing_ok=True)
            _sync(claims)
            if self._owner(name) != owner.encode():
                raise NameTaken(f"the name {name} was taken by another promotion")

    def has(self, name: str, file: FileFacts) -> bool:
        with _said(name):
            return _is(self._root / name / file.name, file)

    def put(self, name: str, file: FileFacts, source: BinaryIO, *, progress: Progress) -> None:
        with _said(name):
            folder = self._root / name
            folder.mkdir(parents=True, exist_ok=True)
            _sync(self._root)
            target = folder / file.name
            if target.exists() or target.is_symlink():
                if not _is(target, file):
                    raise NameTaken(f"{target} is there already, with other bytes")
                progress(file.size)
                return
            unfinished = folder / f"{_UNFINISHED}{file.name}-{uuid4().hex[:8]}"
            try:
                _copy(source, unfinished, file, progress)
                # Read back: a disk that lies should not be believed by everybody who loads it.
                if not _is(unfinished, file):
                    raise StorageError(f"{target} did not arrive as it was sent")
                _link(unfinished, target)
            except FileExistsError:
                raise NameTaken(f"{target} came to be there meanwhile") from None
            finally:
                unfinished.unlink(missing_ok=True)
            _sync(folder)

    def tidy(self, name: str) -> None:
        with _said(name):
            for leftover in (self._root / name).glob(f"{_UNFINISHED}*"):
                leftover.unlink(missing_ok=True)
            for leftover in (self._root / _CLAIMS).glob(f"{_UNFINISHED}{name}-????????"):
                leftover.unlink(missing_ok=True)

    def remove(self, name: str, owner: str) -> None:
        with _said(name):
            folder, aside = self._root / name, self._root / _DELETED
            if self._owner(name) != owner.encode() or not folder.exists():
                return
            aside.mkdir(parents=True, exist_ok=True)
            # One rename: there is no moment with half of it.
            folder.rename(aside / f"{name}-{uuid4().hex[:8]}")
            _sync(self._root)
            _sync(aside)

    def _owner(self, name: str) -> bytes | None:
        """Whose the name is, as its claim says; None if nobody has claimed it."""
        try:
            return (self._root / _CLAIMS / name).read_bytes()
        except FileNotFoundError:
            return None


@contextmanager
def _said(name: str) -> Iterator[None]:
    """Errors of the disk in words."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        if error.errno in _FULL:
            raise StorageFull(f"no room for adapter {name}: {reason}") from error
        raise StorageError(f"adapter {name} cannot be stored now: {reason}") from error


def _copy(source: BinaryIO, target: Path, file: FileFacts, progress: Progress) -> None:
    digest, copied = hashlib.sha256(), 0
    with target.open("xb") as out:
        while piece := source.read(_PIECE):
            copied += len(piece)
            if copied > file.size:
                break
            digest.update(piece)
            out.write(piece)
            progress(copied)
        out.flush()
        os.fsync(out.fileno())
    if copied != file.size or digest.hexdigest() != file.sha256:
        raise SourceChanged(f"{file.name} is not the file any more that was checked")


def _write(path: Path, data: bytes) -> None:
    with path.open("xb") as out:
        out.write(data)
        out.flush()
        os.fsync(out.fileno())


def _link(path: Path, target: Path) -> None:
    """Raises `FileExistsError`; a second name for the same bytes is made at once or not at all."""
    os.link(path, target, follow_symlinks=False)


def _is(path: Path, file: FileFacts) -> bool:
    try:
        with path.open("rb") as opened:
            is_size = os.fstat(opened.fileno()).st_size == file.size
            return is_size and hashlib.file_digest(opened, "sha256").hexdigest() == file.sha256
    except FileNotFoundError:
        return False


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
