"""Packs a folder for an upload: without what git ignores, the same bytes for the same files."""

import io
import os
import stat
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pathspec import GitIgnoreSpec

from app.code.archive import MAX_BYTES, MAX_ENTRIES, MAX_UNPACKED_BYTES
from app.code.ignore import patterns
from app.code.names import path_problem, shown
from app.errors import SkydeckError

_IGNORE_FILE = ".gitignore"
# Git itself leaves out the first; the other is made anew wherever code runs.
_NEVER = frozenset({".git", "__pycache__"})
_EPOCH = (1980, 1, 1, 0, 0, 0)
_LARGEST_SHOWN = 3


@dataclass(frozen=True, slots=True)
class _Ignores:
    """The patterns of one folder, whose path below the root is `prefix`."""

    prefix: str
    spec: GitIgnoreSpec


def pack(root: Path, excludes: Sequence[str] = ()) -> bytes:
    """A zip of the folder's files. Raises `SkydeckError` for what cannot be uploaded, `OSError`.

    Left out are what `.gitignore` files in the folder and its folders name, and `excludes`, which
    are such patterns, too.
    """
    files = list(_files(root, [_Ignores("", patterns(excludes))]))
    _check(root, files)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in files:
            info = zipfile.ZipInfo(name, _EPOCH)
            is_program = (root / name).stat().st_mode & stat.S_IXUSR
            info.external_attr = (stat.S_IFREG | (0o755 if is_program else 0o644)) << 16
            archive.writestr(info, (root / name).read_bytes(), zipfile.ZIP_DEFLATED)
    if packed.tell() > MAX_BYTES:
        raise SkydeckError(f"{root} packs to more than {MAX_BYTES:,} bytes{_largest(root, files)}")
    return packed.getvalue()


def _files(root: Path, above: Sequence[_Ignores], prefix: str = "") -> Iterator[str]:
    """Paths below the root, sorted. A deeper `.gitignore` is asked before those above it."""
    folder = root / prefix
    ignores = [*above, *_ignores_of(folder, prefix)]
    for entry in sorted(os.scandir(folder), key=lambda each: each.name):
        name = f"{prefix}{entry.name}"
        is_folder = entry.is_dir(follow_symlinks=False)
        if entry.name in _NEVER or _is_ignored(f"{name}/" if is_folder else name, ignores):
            continue
        if is_folder:
            yield from _files(root, ignores, f"{name}/")
        elif entry.is_file(follow_symlinks=False):
            yield name
        else:
            kind = "a symbolic link" if entry.is_symlink() else "no file"
            raise SkydeckError(
                f"{shown(name)} is {kind}, which no upload can hold: put the file itself there, or "
                f"add it to {_IGNORE_FILE}"
            )


def _ignores_of(folder: Path, prefix: str) -> list[_Ignores]:
    file = folder / _IGNORE_FILE
    if not file.is_file():
        return []
    lines = file.read_text(errors="replace").splitlines()
    return [_Ignores(prefix, patterns(lines))]


def _is_ignored(name: str, ignores: Sequence[_Ignores]) -> bool:
    # What is excluded by hand comes first in the list, and no file takes it back.
    if ignores[0].spec.match_file(name):
        return True
    for each in reversed(ignores[1:]):
        found = each.spec.check_file(name.removeprefix(each.prefix)).include
        if found is not None:
            return found
    return False


def _check(root: Path, files: Sequence[str]) -> None:
    if not files:
        raise SkydeckError(f"{root} holds no file to upload")
    for name in files:
        problem = path_problem(name)
        if problem is not None:
            raise SkydeckError(f"{shown(name)} {problem}")
    if len(files) > MAX_ENTRIES:
        raise SkydeckError(
            f"{root} holds {len(files):,} files, at most {MAX_ENTRIES:,} are taken: leave some out "
            f"by --exclude or {_IGNORE_FILE}"
        )
    total = sum((root / name).stat().st_size for name in files)
    if total > MAX_UNPACKED_BYTES:
        raise SkydeckError(f"{root} holds {total:,} bytes{_largest(root, files)}")


def _largest(root: Path, files: Sequence[str]) -> str:
    sizes = sorted(((root / name).stat().st_size, name) for name in files)
    named = ", ".join(
        f"{shown(name)} ({size:,})" for size, name in reversed(sizes[-_LARGEST_SHOWN:])
    )
    return f"; the largest files are {named}: leave some out by --exclude or {_IGNORE_FILE}"
