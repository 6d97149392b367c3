"""`skydeck up` without a cluster: its children, its signals, its sudden death."""

import asyncio
import json
import re
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from app.errors import StartError
from app.up.service import Service
from tests.e2e.skydeck import Skydeck, environment, processes_of, running

pytestmark = pytest.mark.slow
SETTINGS = {"EMBEDDED_CLUSTER": "false", "EMBEDDED_ENDPOINT": "on"}
STOP_SECONDS = 20.0
WAIT_SECONDS = 60.0


@pytest.fixture(scope="module")
def skydeck(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Skydeck]:
    with running(tmp_path_factory.mktemp("up") / "home", SETTINGS) as started:
        started.wait_ready()
        yield started


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def answers(url: str, path: str = "/healthz") -> bool:
    try:
        return httpx.get(url + path, trust_env=False, timeout=5).is_success
    except httpx.HTTPError:
        return False


def pids(skydeck: Skydeck, name: str) -> set[int]:
    return {process.pid for process in skydeck.children(name)}


def test_ready_is_said_when_pages_answer_and_the_link_goes_to_stderr(skydeck: Skydeck) -> None:
    until(lambda: answers(skydeck.url))
    said = skydeck.stderr_file.read_text()
    link = re.search(r"^first sign-in.*: (http://\S+)$", said, re.MULTILINE)
    assert link is not None
    assert link[1].startswith(f"{skydeck.url}/sign-in?token=")
    assert answers(link[1], "")


def test_other_commands_find_the_address_in_a_file_that_is_ours_alone(skydeck: Skydeck) -> None:
    file = skydeck.home / "up.json"
    assert json.loads(file.read_text()) == {"url": skydeck.url, "pid": skydeck.process.pid}
    assert file.stat().st_mode & 0o777 == 0o600


def endpoint_lists(skydeck: Skydeck) -> list[str]:
    """Ids of the models of the endpoint that is announced; none if it does not answer."""
    try:
        said = json.loads((skydeck.home / "endpoint.json").read_text())
        headers = {"Authorization": f"Bearer {said['key']}"}
        found = httpx.get(f"{said['base_url']}/models", headers=headers, trust_env=False)
        return [model["id"] for model in found.json()["data"]]
    except (OSError, httpx.HTTPError):
        return []


def test_the_embedded_endpoint_is_announced_and_comes_back_with_another_key(
    skydeck: Skydeck,
) -> None:
    until(lambda: endpoint_lists(skydeck) == ["maze-base"])
    before = json.loads((skydeck.home / "endpoint.json").read_text())
    assert skydeck.kill("endpoint")
    until(lambda: json.loads((skydeck.home / "endpoint.json").read_text()) != before)
    until(lambda: endpoint_lists(skydeck) == ["maze-base"])
    after = json.loads((skydeck.home / "endpoint.json").read_text())
    assert after["key"] != before["key"]


def test_the_embedded_endpoint_is_told_no_setting(skydeck: Skydeck) -> None:
    until(lambda: bool(endpoint_lists(skydeck)))
    (process,) = skydeck.children("endpoint")
    assert [name for name in process.environ() if name.startswith("SKYDECK_")] == []


def test_what_lies_in_the_home_is_for_its_user_alone(skydeck: Skydeck) -> None:
    home = skydeck.home
    # The database's side files come and go.
    modes = {path.name: _mode(path) for path in (home, *home.rglob("*")) if path.exists()}
    assert {"skydeck.db", "up.lock"} <= modes.keys()
    assert {name: mode for name, mode in modes.items() if mode & 0o077} == {}


def _mode(path: Path) -> int:
    return path.stat().st_mode & 0o777 if path.exists() else 0


def test_a_second_start_on_the_same_home_is_refused(skydeck: Skydeck) -> None:
    second = Skydeck(skydeck.home, SETTINGS)
    assert second.process.stdout is not None
    with second.process.stdout as out:
        assert (second.process.wait(WAIT_SECONDS), out.read()) == (1, "")
    assert f"already runs on {skydeck.home} (process {skydeck.process.pid})" in skydeck.said()
    until(lambda: answers(skydeck.url))


@pytest.mark.parametrize("name", ["web", "worker", "endpoint"])
def test_a_child_that_dies_is_started_again(skydeck: Skydeck, name: str) -> None:
    until(lambda: bool(skydeck.children(name)))
    before = pids(skydeck, name)
    assert skydeck.kill(name)
    until(lambda: bool(pids(skydeck, name) - before))
    until(lambda: answers(skydeck.url))


def test_a_page_asked_for_while_the_web_is_away_is_served_late_not_refused(
    skydeck: Skydeck,
) -> None:
    until(lambda: answers(skydeck.url))
    assert skydeck.kill("web")
    assert httpx.get(f"{skydeck.url}/healthz", trust_env=False, timeout=WAIT_SECONDS).is_success


def test_ctrl_c_ends_all_of_it(tmp_path: Path) -> None:
    with running(tmp_path / "home", SETTINGS) as skydeck:
        skydeck.wait_ready()
        status, seconds = skydeck.stop(signal.SIGINT)
    assert status == 0, skydeck.said()
    assert seconds < STOP_SECONDS
    assert processes_of(skydeck.home) == []
    assert not (skydeck.home / "up.json").exists()
    assert not (skydeck.home / "endpoint.json").exists()


def test_a_signal_during_the_start_ends_it_too(tmp_path: Path) -> None:
    with running(tmp_path / "home", SETTINGS) as skydeck:
        until(lambda: (skydeck.home / "up.lock").exists())
        status, seconds = skydeck.stop()
    assert status in (0, -signal.SIGTERM)
    assert seconds < STOP_SECONDS
    assert processes_of(skydeck.home) == []


def test_children_end_with_a_killed_supervisor_and_free_the_port(tmp_path: Path) -> None:
    with running(tmp_path / "home", SETTINGS) as skydeck:
        skydeck.wait_ready()
        skydeck.abandon()
        until(lambda: processes_of(skydeck.home) == [])
        assert not answers(skydeck.url)


async def test_a_child_that_cannot_run_ends_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.up.service._FIRST_PAUSE", 0.01)
    service = Service("web", ["-c", "raise SystemExit(3)"], environ=environment(tmp_path, {}))
    with pytest.raises(StartError, match="the web process ends at once, 4 times"):
        await service.keep(asyncio.Event())
