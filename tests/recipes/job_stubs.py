"""Runs a job package with stand-ins for its programs, which write down how they were called."""

import os
import subprocess
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from app.recipes.render import SCRIPT, Rendered

RUN_ID = "run-7fk2m9qd"
# The linter that came with the tests' own packages.
SHELLCHECK = str(Path(sysconfig.get_path("scripts")) / "shellcheck")
# Number of arguments, name, arguments, then a variable that tests set: each ended by a zero byte.
_RECORD = """#!/bin/bash
{ printf '%s\\0' "$#" "${0##*/}" "$@" "${PROBE-}"; } >> "$CALLS"
"""
# The last argument is the folder to download to.
_DOWNLOAD = _RECORD + 'mkdir -p "${@: -1}/$FOLDER" && touch "${@: -1}/$FOLDER/config.json"\n'
# FAILS holds pairs of an argument and the exit status of a call that has it.
_PYTHON = (
    _RECORD
    + 'for pair in $FAILS; do case " $* " in *" ${pair%=*} "*) exit "${pair#*=}" ;; esac; done\n'
)
_PROGRAMS = {"python": _PYTHON, "hf": _DOWNLOAD, "git": _RECORD}


@dataclass(frozen=True, slots=True)
class Call:
    name: str
    arguments: list[str]
    probe: str


def run_package(
    package: Rendered,
    folder: Path,
    *,
    downloads: str = "",
    programs: tuple[str, ...] = ("hf",),
    fails: Mapping[str, int] | None = None,
    status: int = 0,
) -> list[Call]:
    """All calls in order; the script must end with that status.

    `downloads` is the folder in the repository; `fails` gives exit statuses by arguments of Python.
    """
    stubs, job, record = folder / "stubs", folder / "job", folder / "calls"
    for place in (stubs, job):
        place.mkdir(exist_ok=True)
    record.write_bytes(b"")
    for name, text in _PROGRAMS.items():
        if name == "hf" and "hf" not in programs:
            name = "huggingface-cli"
        (stubs / name).write_text(text)
        (stubs / name).chmod(0o755)
    for name, text in package.files.items():
        (job / name).write_text(text)
    environment = {
        "PATH": f"{stubs}:/usr/bin:/bin",
        "SKYDECK_RUN_ID": RUN_ID,
        "CALLS": str(record),
        "FOLDER": downloads,
        "FAILS": " ".join(f"{word}={code}" for word, code in (fails or {}).items()),
        "LC_ALL": "C.UTF-8",
    }
    answer = subprocess.run(
        ["bash", SCRIPT], cwd=job, env=environment, capture_output=True, timeout=60, check=False
    )
    assert answer.returncode == status, answer.stderr.decode(errors="replace")
    return list(_calls(record.read_bytes()))


def _calls(recorded: bytes) -> list[Call]:
    fields = [os.fsdecode(each) for each in recorded.split(b"\0")[:-1]]
    calls = []
    while fields:
        count = int(fields[0])
        calls.append(Call(fields[1], fields[2 : 2 + count], fields[2 + count]))
        fields = fields[3 + count :]
    return calls
