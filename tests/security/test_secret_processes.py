"""Secrets stay out of command lines, environments, files and the service's log."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest

from tests.e2e.skydeck import Skydeck, command, running
from tests.security.planted import ALL, finds

pytestmark = pytest.mark.slow
SETTINGS = {"EMBEDDED_CLUSTER": "off", "LOG_LEVEL": "debug"}


@pytest.fixture(scope="module")
def skydeck(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Skydeck]:
    """With all planted secrets set, half of them by the command line."""
    with running(tmp_path_factory.mktemp("secrets") / "home", SETTINGS) as started:
        started.wait_ready()
        token = _admin_token(started)
        api = f"{started.url}/api/v1/secrets"
        with httpx.Client(headers={"Authorization": f"Bearer {token}"}, trust_env=False) as client:
            names = list(ALL)
            for name in names[1::2]:
                answer = client.put(f"{api}/{name}", json={"value": ALL[name]}, timeout=60)
                assert answer.status_code == 201, answer.text
            _set_by_commands(started, names[::2])
            assert len(client.get(api, timeout=60).json()["items"]) == len(ALL)
            # What is refused is logged, too.
            client.put(f"{api}/P_PLAIN", content=ALL["P_PLAIN"], timeout=60)
        yield started


def test_no_process_shows_a_secret(skydeck: Skydeck) -> None:
    supervisor = psutil.Process(skydeck.process.pid)
    processes = [supervisor, *supervisor.children(recursive=True)]
    assert len(processes) >= 3
    for process in processes:
        shown = "\n".join([*process.cmdline(), *map("=".join, process.environ().items())])
        assert finds(shown) == [], process


def test_no_file_and_no_line_of_the_log_holds_a_secret(skydeck: Skydeck) -> None:
    files = [file for file in skydeck.home.rglob("*") if file.is_file()]
    assert {"skydeck.db", "secret.keys"} <= {file.name for file in files}
    for file in [*files, skydeck.stderr_file]:
        assert finds(file.read_bytes()) == [], file


def _set_by_commands(skydeck: Skydeck, names: list[str]) -> None:
    """All at once: starting them takes longer than what they do."""
    started = {name: _start(skydeck, "secret", "set", name, "--site") for name in names}
    for name, process in started.items():
        # While it waits for the value, its command line is there for all to read.
        assert finds("\n".join(psutil.Process(process.pid).cmdline())) == []
        out, _ = process.communicate(ALL[name], timeout=120)
        assert out == f"{name} set\n"


def _start(skydeck: Skydeck, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        command(*arguments),
        env=skydeck.environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _admin_token(skydeck: Skydeck) -> str:
    done = subprocess.run(
        command("token", "create", "--name", "root", "--scope", "admin"),
        env=skydeck.environ,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout.strip()


def test_a_home_without_its_key_file_does_not_start(skydeck: Skydeck, tmp_path: Path) -> None:
    file = skydeck.home / "secret.keys"
    kept = file.rename(tmp_path / "kept")
    try:
        for process in [_start(skydeck, name) for name in ("web", "worker")]:
            _, said = process.communicate(timeout=120)
            assert process.returncode == 1
            assert "is missing, and the database holds 20 secrets" in said
        assert not file.exists()
    finally:
        kept.rename(file)
