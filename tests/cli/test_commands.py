"""Usage, errors in one line, tokens, migration, the check-up."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from app.settings import ROOT
from tests.cli.conftest import Skydeck

COMMANDS = (
    "up",
    "web",
    "worker",
    "migrate",
    "doctor",
    "token create",
    "user link",
    "user list",
    "cluster add",
    "cluster change",
    "cluster check",
    "cluster list",
    "cluster remove",
    "cluster show",
    "run submit",
    "run list",
    "run show",
    "run logs",
    "run stop",
    "run finish",
    "run resume",
)
HEAVY = ("sqlalchemy", "fastapi", "httpx", "numpy", "ray", "pydantic", "uvicorn", "rich")


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_explains_itself(skydeck: Skydeck, command: str) -> None:
    answer = skydeck(*command.split(), "--help")
    assert answer.status == 0
    assert command in answer.out
    assert len(answer.out.splitlines()) > 4


@pytest.mark.parametrize("group", [(), ("token",), ("user",), ("cluster",), ("run",)])
def test_each_group_lists_its_commands(skydeck: Skydeck, group: tuple[str, ...]) -> None:
    answer = skydeck(*group, "--help")
    for command in COMMANDS:
        *above, name = command.split()
        if tuple(above) == group:
            assert f"  {name} " in answer.out


def test_help_loads_nothing_that_is_slow() -> None:
    # A name without a module is one that shall not be loaded.
    loaded = "{name.partition('.')[0] for name, module in sys.modules.items() if module}"
    program = f"import app.cli, sys; print(*{loaded})"
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert not set(HEAVY) & set(answer.stdout.split())


@pytest.mark.parametrize(
    "arguments",
    [
        ("fly",),
        ("up", "--port", "70000"),
        ("token", "create"),
        ("token", "create", "--name", "x", "--scope", "root"),
        ("run", "show"),
        ("run", "list", "--limit", "0"),
        ("run", "logs", "run-x", "--follow", "--attempt", "1"),
    ],
)
def test_wrong_usage_is_status_2(skydeck: Skydeck, arguments: tuple[str, ...]) -> None:
    answer = skydeck(*arguments)
    assert (answer.status, answer.out) == (2, "")
    assert "Traceback" not in answer.err


def assert_one_line(answer: object, *words: str) -> None:
    status, out, err = answer.status, answer.out, answer.err  # type: ignore[attr-defined]
    assert (status, out) == (1, "")
    assert err.startswith("skydeck: ")
    assert err.count("\n") == 1
    for word in words:
        assert word in err


@pytest.mark.parametrize("command", ["up", "web", "worker", "migrate"])
def test_a_wrong_setting_stops_the_start(
    skydeck: Skydeck, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("SKYDECK_PORT", "many")
    assert_one_line(skydeck(command), "SKYDECK_PORT", "the environment", "many")


def test_an_unknown_setting_is_named(skydeck: Skydeck, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SKYDECK_PROT", "1")
    assert_one_line(skydeck("migrate"), "SKYDECK_PROT", "SKYDECK_PORT")


def test_a_service_that_does_not_answer(skydeck: Skydeck) -> None:
    assert_one_line(skydeck("run", "list"), "http://127.0.0.1:1", "running?")


def test_a_database_that_is_not_up_to_date(
    skydeck: Skydeck, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SKYDECK_HOME", str(tmp_path / "new"))
    assert skydeck("web").status == 1
    made = skydeck("migrate")
    assert made.status == 0
    assert skydeck("migrate").out == made.out
    assert made.out.strip()


def test_a_home_that_cannot_be_made(
    skydeck: Skydeck, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("SKYDECK_HOME", str(tmp_path / "file" / "home"))
    assert_one_line(skydeck("migrate"), "home folder")


def test_a_mistake_of_ours_is_one_line_too(
    skydeck: Skydeck, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_url: str) -> str:
        raise RuntimeError("two\nlines")

    monkeypatch.setattr("app.schema.migrate_now", fail)
    assert_one_line(skydeck("migrate"), "RuntimeError", "two lines")


def test_a_token_is_printed_alone(skydeck: Skydeck) -> None:
    answer = skydeck("token", "create", "--name", "sweep", "--scope", "read")
    assert (answer.status, answer.err) == (0, "")
    assert answer.out.startswith("sky_")
    assert len(answer.out.split()) == 1


def test_the_checkup_names_what_is_wrong_and_its_fix(skydeck: Skydeck) -> None:
    answer = skydeck("doctor")
    assert answer.status == 1
    assert "FAIL  web" in answer.out
    assert "fix: start it" in answer.out
    assert "ok    database" in answer.out


def test_the_checkup_as_json(skydeck: Skydeck, server: str) -> None:
    body = json.loads(skydeck("doctor", "--json").out)
    checks = {check["name"]: check for check in body["checks"]}
    assert body["ok"] is False
    assert checks["web"]["ok"]
    assert server in checks["web"]["message"]
    assert not checks["worker"]["ok"]
    assert not checks["ray"]["ok"]
    assert checks["disk"]["details"]["free_bytes"] > 0
    assert all(check["fix"] for check in body["checks"] if not check["ok"])


def test_the_checkup_without_an_embedded_cluster(
    skydeck: Skydeck, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SKYDECK_EMBEDDED_CLUSTER", "false")
    checks = {each["name"]: each for each in json.loads(skydeck("doctor", "--json").out)["checks"]}
    assert checks["ray"]["ok"]


def test_the_checkup_of_wrong_settings(skydeck: Skydeck, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SKYDECK_PORT", "many")
    answer = skydeck("doctor")
    assert answer.status == 1
    assert "SKYDECK_PORT" in answer.out
