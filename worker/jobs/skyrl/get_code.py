"""Puts the user's code into a folder: a git commit, or a zip on S3.

    python get_code.py --source=https://host/repository@COMMIT --into=code [--exclude=PATTERN]…

The folder appears in one step; where it is there already, nothing is done, so that a job may be
submitted again.
"""

import argparse
import fnmatch
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

_ARCHIVE = "code.zip"


class Refused(Exception):
    """The code cannot be had; the message says why."""


def fetch(source: str, into: Path, excludes: list[str]) -> None:
    """Raises `Refused`, or `OSError` and `subprocess.CalledProcessError` as they come."""
    if into.exists():
        return
    into.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=into.parent) as scratch:
        part = Path(scratch) / "code"
        part.mkdir()
        if source.startswith("s3://"):
            _unpack(_download(source, Path(scratch) / _ARCHIVE), part)
        else:
            _check_out(source, part)
        leave_out(part, excludes)
        try:
            os.replace(part, into)
        except OSError:
            # Another job with the same package was quicker: its copy is as good.
            if not into.exists():
                raise


def leave_out(folder: Path, patterns: list[str]) -> None:
    """Removes what matches: by name, or by path below `folder` for a pattern with a slash."""
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder).as_posix()
        if any(_matches(pattern.rstrip("/"), path.name, inside) for pattern in patterns):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            elif path.is_symlink() or path.exists():
                path.unlink()


def _matches(pattern: str, name: str, inside: str) -> bool:
    if "/" in pattern:
        return fnmatch.fnmatchcase(inside, pattern.lstrip("/"))
    return fnmatch.fnmatchcase(name, pattern)


def _check_out(source: str, part: Path) -> None:
    address, _, commit = source.rpartition("@")
    for words in (
        ["init", "--quiet"],
        ["fetch", "--quiet", "--depth=1", "--", address, commit],
        ["checkout", "--quiet", "--detach", "FETCH_HEAD"],
    ):
        subprocess.run(["git", "-C", str(part), *words], check=True)  # noqa: S607


def _download(source: str, archive: Path) -> Path:
    import fsspec

    fsspec.filesystem("s3").get(source, str(archive))
    return archive


def _unpack(archive: Path, part: Path) -> None:
    with zipfile.ZipFile(archive) as packed:
        for name in packed.namelist():
            if not (part / name).resolve().is_relative_to(part.resolve()):
                raise Refused(f"{name} in the zip leads out of its folder")
        packed.extractall(part)


def main(arguments: list[str]) -> int:
    """Returns the exit status: 0, or 1 where the code could not be had."""
    parser = argparse.ArgumentParser(description="Put the user's code into a folder.")
    parser.add_argument("--source", required=True)
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--exclude", action="append", default=[])
    args = parser.parse_args(arguments)
    try:
        fetch(args.source, args.into, args.exclude)
    except (Refused, OSError, subprocess.CalledProcessError, zipfile.BadZipFile) as error:
        sys.stderr.write(f"get_code: {args.source}: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
