"""Settings that are read wrong would start another service than the one that was meant."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.errors import StartError
from app.settings import ROOT, load_settings
from tests.cli.conftest import Skydeck


@pytest.mark.parametrize(
    "url",
    [
        "foo:secret@host/name",
        "secret",
        "mysql://u:secret@host/name",
        "postgresql://u:secret@host:port/name",
        "postgresql://u:secret@host:99999/name",
        "sqlite://",
        "sqlite:///:memory:",
    ],
)
def test_a_wrong_url_names_the_setting_and_keeps_the_secret(
    home: Path, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("SKYDECK_DATABASE_URL", url)
    with pytest.raises(StartError, match="SKYDECK_DATABASE_URL") as caught:
        load_settings()
    assert "secret" not in caught.value.message


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("postgres://u:p%40ss@h/d", "postgresql+asyncpg://u:p%40ss@h/d"),
        ("postgresql+asyncpg://u@[::1]:5432/d", "postgresql+asyncpg://u@[::1]:5432/d"),
        ("sqlite:////srv/sky.db", "sqlite+aiosqlite:////srv/sky.db"),
    ],
)
def test_urls_that_are_taken(
    home: Path, monkeypatch: pytest.MonkeyPatch, given: str, url: str
) -> None:
    monkeypatch.setenv("SKYDECK_DATABASE_URL", given)
    assert load_settings().url == url


def test_relative_places_are_those_of_the_caller(
    home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SKYDECK_HOME", "here")
    monkeypatch.setenv("SKYDECK_DATABASE_URL", "sqlite:///mine.db")
    settings = load_settings()
    monkeypatch.chdir(ROOT)
    assert settings.home == tmp_path / "here"
    assert settings.url == f"sqlite+aiosqlite:///{tmp_path / 'mine.db'}"


def test_a_wrong_value_is_where_it_was_given(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SKYDECK_PORT", "many")
    with pytest.raises(StartError, match="in the environment"):
        load_settings(port=None)
    with pytest.raises(StartError, match="in the command line"):
        load_settings(port="more")


def test_the_worker_gets_absolute_places(
    skydeck: Skydeck, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    started: list[tuple[list[str], dict[str, str]]] = []

    def execve(_program: str, command: list[str], environment: dict[str, str]) -> None:
        started.append((command, environment))

    monkeypatch.setattr(os, "execve", execve)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SKYDECK_HOME", "here")
    monkeypatch.setenv("SKYDECK_DATABASE_URL", "sqlite:///mine.db")
    monkeypatch.setenv("RAY_ADDRESS", "elsewhere")
    assert skydeck("worker").status == 0
    [(command, environment)] = started
    assert command[1:] == ["-m", "worker"]
    assert environment["SKYDECK_HOME"] == str(tmp_path / "here")
    assert str(tmp_path / "mine.db") in environment["SKYDECK_DATABASE_URL"]
    assert "RAY_ADDRESS" not in environment


@pytest.mark.parametrize("place", ["missing/x.db", "folder", "text.db"])
def test_a_database_that_cannot_be_opened_is_one_line(tmp_path: Path, place: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "text.db").write_text("this is no database, but long enough to look at" * 50)
    answer = subprocess.run(
        [sys.executable, "-m", "app.cli", "migrate"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={
            "PATH": os.environ["PATH"],
            "SKYDECK_HOME": str(tmp_path / "home"),
            "SKYDECK_DATABASE_URL": f"sqlite:///{tmp_path / place}",
        },
    )
    assert (answer.returncode, answer.stdout) == (1, "")
    [line] = answer.stderr.splitlines()
    assert place in line


@pytest.mark.parametrize(
    "url",
    [
        *("", "sky.example", "ftp://sky.example", "https://", "https://sky.example/path"),
        *("https://sky.example?a=b", "https://sky.example#a", "https://me:pw@sky.example"),
        *("https://sky.example:port", "https://sky.example:99999", "https://sky example"),
    ],
)
def test_a_wrong_public_url_stops_the_start(
    home: Path, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("SKYDECK_PUBLIC_URL", url)
    with pytest.raises(StartError, match=r"SKYDECK_PUBLIC_URL.*wanted is http"):
        load_settings()


@pytest.mark.parametrize("url", ["https://sky.example", "http://10.0.0.7:8000/", "https://[::1]:1"])
def test_a_public_url_that_is_taken(home: Path, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("SKYDECK_PUBLIC_URL", url)
    assert load_settings().public_url == url.rstrip("/")
