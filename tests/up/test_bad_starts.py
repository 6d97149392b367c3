"""Starts that cannot work: one clear line, exit status not 0, nothing left running."""

import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from app.settings import ROOT
from app.up.checks import listen
from tests.e2e.skydeck import command, environment, processes_of

SECONDS = 120
# A program whose files may hold 6 MB and no more: the system then says EFBIG, as a quota does.
LIMITED = (
    "import os, resource, sys;"
    "resource.setrlimit(resource.RLIMIT_FSIZE, (6_000_000, 6_000_000));"
    "os.execv(sys.argv[1], sys.argv[1:])"
)


@pytest.fixture
def home() -> Iterator[Path]:
    # Short: the names of Ray's sockets must fit behind it.
    folder = Path(tempfile.mkdtemp(prefix="sky-", dir="/tmp"))
    yield folder / "home"
    shutil.rmtree(folder, ignore_errors=True)


def refused(home: Path, settings: Mapping[str, str], *prefix: str) -> str:
    """The line that `skydeck up` ends with."""
    given = {"PORT": "0", "EMBEDDED_CLUSTER": "false", **settings}
    done = subprocess.run(
        [*prefix, *command("up")],
        cwd=ROOT,
        env=environment(home, given),
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert processes_of(home) == []
    line = done.stderr.splitlines()[-1]
    assert line.startswith("skydeck: ")
    return line


def test_a_taken_port(home: Path) -> None:
    with listen("127.0.0.1", 0) as other:
        port = str(other.getsockname()[1])
        assert f"port {port} on 127.0.0.1 is taken" in refused(home, {"PORT": port})


def test_an_unwritable_home(home: Path) -> None:
    home.parent.joinpath("file").touch()
    line = refused(home.parent / "file" / "home", {})
    assert f"{home.parent}/file/home cannot be written" in line


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("PORT", "many", "SKYDECK_PORT in the environment is 'many'"),
        ("PROT", "8000", "did you mean SKYDECK_PORT?"),
        ("DATABASE_URL", "mysql://x/y", "wanted is postgresql+asyncpg:// or sqlite:///"),
    ],
)
def test_a_wrong_setting(home: Path, name: str, value: str, wanted: str) -> None:
    assert wanted in refused(home, {name: value})


def test_a_database_of_a_newer_version(home: Path, sqlite_template: Path) -> None:
    home.mkdir()
    shutil.copy(sqlite_template, home / "skydeck.db")
    with sqlite3.connect(home / "skydeck.db") as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    assert "newer version of Skydeck (revision 9999)" in refused(home, {})


def test_a_database_that_is_not_there(home: Path) -> None:
    line = refused(home, {"DATABASE_URL": "postgresql+asyncpg://ada:secret@127.0.0.1:1/none"})
    assert "cannot be used" in line
    assert "secret" not in line


def test_ray_that_cannot_start(home: Path) -> None:
    home.mkdir()
    (home / "ray").touch()
    line = refused(home, {"EMBEDDED_CLUSTER": "true"})
    assert "embedded Ray cluster cannot write" in line


def test_a_full_disk(home: Path) -> None:
    line = refused(home, {}, sys.executable, "-c", LIMITED)
    assert f"disk of the home folder {home} is full" in line
    assert list(home.iterdir()) == []
