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
            for number, (name, value) in enumerate(ALL.items()):
                if number % 2:
                    answer = client.put(f"{api}/{name}", json={"value": value}, timeout=60)
                    assert answer.status_code == 201, answer.text
                else:
                    _set(started, name, value)
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


def _set(skydeck: Skydeck, name: str, value: str) -> None:
    process = subprocess.Popen(
        command("secret", "set", name, "--site"),
        env=skydeck.environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    # While it waits for the value, its command line is there for all to read.
    assert finds("\n".join(psutil.Process(process.pid).cmdline())) == []
    out, _ = process.communicate(value, timeout=120)
    assert out == f"{name} set\n"


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
        for name in ("web", "worker"):
            done = subprocess.run(
                command(name), env=skydeck.environ, capture_output=True, text=True, timeout=120
            )
            assert done.returncode == 1
            assert "is missing, and the database holds 20 secrets" in done.stderr
            assert not file.exists()
    finally:
        kept.rename(file)
