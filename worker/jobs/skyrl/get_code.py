"""Puts the user's code into a folder: a git commit, or a zip on S3.

    python get_code.py --source=https://host/repository@COMMIT --into=code [--exclude=PATTERN]…

The folder appears in one step; where it is there already, nothing is done, so that a job may be
submitted again.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import NamedTuple

_ARCHIVE = "code.zip"
# `**` counts between slashes alone; elsewhere it is a `*`.
_PIECES = re.compile(
    r"(?P<deep>(?:^|(?<=/))\*\*/|(?<=/)\*\*$)|\*+|\?|\[[!^]?\]?[^\]]*\]|\\.|.", re.DOTALL
)
_DEEP = {"**/": "(?:.*/)?", "**": ".*"}
_IN_CLASS = {ord(sign): f"\\{sign}" for sign in "[]&~|^"}


class Refused(Exception):
    """The code cannot be had; the message says why."""


class _Rule(NamedTuple):
    """What one pattern says. Paths are below the folder, with slashes."""

    regex: re.Pattern[str]
    is_kept: bool
    is_for_folders: bool


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
    """Removes what matches, as git would with the patterns in a `.gitignore` in `folder`."""
    rules = [rule for pattern in patterns if (rule := _rule(pattern))]
    for root, folders, files in os.walk(folder):
        for name in [*folders, *files]:
            path = Path(root, name)
            is_folder = path.is_dir() and not path.is_symlink()
            if not _is_left_out(path.relative_to(folder).as_posix(), is_folder, rules):
                continue
            if is_folder:
                shutil.rmtree(path)
                folders.remove(name)
            else:
                path.unlink()


def _is_left_out(inside: str, is_folder: bool, rules: list[_Rule]) -> bool:
    """The last rule that matches decides. What is in a folder that is left out goes with it."""
    matching = [
        rule
        for rule in rules
        if rule.regex.fullmatch(inside) and (is_folder or not rule.is_for_folders)
    ]
    return bool(matching) and not matching[-1].is_kept


def _rule(pattern: str) -> _Rule | None:
    """Syntax: gitignore(5). None for a comment and for an empty line."""
    text = re.sub(r"(?<!\\) +$", "", pattern)
    if text.startswith("#"):
        return None
    is_kept = text.startswith("!")
    text = text.removeprefix("!")
    is_for_folders, text = text.endswith("/"), text.rstrip("/")
    if not text:
        return None
    head = "" if "/" in text else "(?:.*/)?"
    return _Rule(re.compile(head + _regex(text.lstrip("/")), re.DOTALL), is_kept, is_for_folders)


def _regex(text: str) -> str:
    return "".join(_piece(match) for match in _PIECES.finditer(text))


def _piece(match: re.Match[str]) -> str:
    text = match[0]
    if text.startswith("*"):
        return _DEEP[text] if match["deep"] else "[^/]*"
    if text == "?":
        return "[^/]"
    if text.startswith("[") and len(text) > 1:
        negation = "^" if text[1] in "!^" else ""
        members = text[1 + len(negation) : -1]
        return f"(?!/)[{negation}{members.translate(_IN_CLASS)}]"
    return re.escape(text[-1])


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
