"""`skydeck config` against a real server."""

import io
import json
from pathlib import Path

import pytest

from app.client import Client
from tests.cli.conftest import Skydeck

TUTORIAL = Path(__file__).parents[1] / "recipes" / "data" / "tutorial_train_job.sh"
pytestmark = pytest.mark.usefixtures("server")


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    file = tmp_path / "plan.json"
    config = {"trainer.epochs": 3, "trainer.train_batch_size": 48}
    file.write_text(json.dumps({"recipe": "visgym-sft-grpo", "config": config}))
    return file


def test_a_config_that_is_right_and_one_that_is_not(skydeck: Skydeck, plan: Path) -> None:
    good = skydeck("config", "validate", str(plan))
    assert (good.status, good.out.splitlines()[-1]) == (0, "ok")
    plan.write_text('{"recipe": "visgym-sft-grpo", "config": {"trainer.epohcs": 3}}')
    bad = skydeck("config", "validate", str(plan))
    assert bad.status == 1
    assert "trainer.epochs" in bad.out
    found = json.loads(skydeck("config", "validate", str(plan), "--json").out)
    assert [error["rule"] for error in found["errors"]] == ["unknown_key"]
    refused = skydeck("config", "validate", str(plan), "--cluster", "embedded")
    assert refused.status == 1


def test_a_toml_and_a_yaml_config(skydeck: Skydeck, tmp_path: Path) -> None:
    toml, yaml = tmp_path / "plan.toml", tmp_path / "plan.yaml"
    toml.write_text('recipe = "visgym-sft-grpo"\n[config]\n"trainer.epochs" = 3\n')
    yaml.write_text("recipe: visgym-sft-grpo\nconfig:\n  trainer: {epochs: 3}\n")
    said = [skydeck("config", "diff", str(file)).out for file in (toml, yaml)]
    assert said == ["trainer.epochs: 20 → 3\n"] * 2
    assert skydeck("config", "diff", str(toml), str(yaml)).out == ""


def test_the_job_package(skydeck: Skydeck, plan: Path, tmp_path: Path) -> None:
    script = skydeck("config", "render", str(plan)).out
    assert script.startswith("#!/usr/bin/env bash\n")
    folder = tmp_path / "job"
    written = skydeck("config", "render", str(plan), "--out", str(folder))
    assert written.out.startswith("ray job submit ")
    assert (folder / "train_job.sh").read_text() == script
    assert (folder / "train.py").exists()
    package = json.loads(skydeck("config", "render", str(plan), "--json").out)
    assert package["files"]["train_job.sh"] == script


def test_an_import_becomes_a_file_to_submit(skydeck: Skydeck, tmp_path: Path) -> None:
    answer = skydeck("config", "import", str(TUTORIAL))
    assert (answer.status, answer.err) == (0, "")
    file = tmp_path / "imported.json"
    file.write_text(answer.out)
    changed = skydeck("config", "diff", str(file)).out
    assert "trainer.run_name" in changed
    assert skydeck("config", "diff", str(file), str(TUTORIAL)).out == ""


def test_what_was_not_understood_is_said(skydeck: Skydeck, monkeypatch: pytest.MonkeyPatch) -> None:
    text = b"python examples/train/visgym/entrypoint.py --env_variant sft trainer.epochs=$N"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    answer = skydeck("config", "import", "-")
    assert answer.status == 0
    assert answer.err == "not understood: line 1: trainer.epochs=$N: N is not set in this text\n"


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "cannot be read"), (b"\x00\xff" * 100, "no text"), (b"x" * 5_000_000, "no config")],
)
def test_a_file_that_is_none(
    skydeck: Skydeck, tmp_path: Path, content: bytes | None, said: str
) -> None:
    file = tmp_path / "file"
    if content is not None:
        file.write_bytes(content)
    for command in ("validate", "render", "import", "diff"):
        answer = skydeck("config", command, str(file))
        assert (answer.status, answer.out) == (1, "")
        assert said in answer.err
        assert answer.err.count("\n") == 1


def test_the_client_has_the_same_calls(skydeck: Skydeck, server: str) -> None:
    token = skydeck("token", "create", "--name", "x").out.strip()
    with Client(server, token) as client:
        found = client.import_config("trainer.epochs=3")
        assert found["config"] == {"trainer.epochs": 3}
        [change] = client.diff(found["recipe"], found["config"])
        assert (change["key"], change["after"]) == ("trainer.epochs", 3)
        other = (found["recipe"], {"trainer.epochs": 3})
        assert client.diff(found["recipe"], found["config"], other=other) == []


def test_a_file_of_which_nothing_is_understood_is_no_good_config(
    skydeck: Skydeck, tmp_path: Path
) -> None:
    file = tmp_path / "train_job.sh"
    file.write_text('python examples/train/visgym/entrypoint.py trainer.epochs="3')
    for command in ("validate", "render", "diff"):
        answer = skydeck("config", command, str(file))
        assert answer.status == 1
        assert answer.out == ""
        assert "not closed" in answer.err
        assert "nothing in" in answer.err
