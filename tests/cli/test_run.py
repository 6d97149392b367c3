"""`skydeck run` against a real server."""

import json
import stat
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.client import Client
from app.commands.connection import TOKEN_FILE
from app.commands.plans import read_plan
from app.errors import SkydeckError
from tests.cli.conftest import Skydeck

RECIPE = "embedded-maze-grpo"
pytestmark = pytest.mark.usefixtures("server")


def test_a_run_from_submission_to_stop(skydeck: Skydeck) -> None:
    submitted = skydeck("run", "submit", RECIPE, "--set", "trainer.seed=4", "--tag", "lora")
    assert (submitted.status, submitted.err) == (0, "")
    run_id = submitted.out.strip()
    assert run_id in skydeck("run", "list").out
    shown = json.loads(skydeck("run", "show", run_id, "--json").out)
    assert shown["config"]["trainer.seed"] == 4
    assert (shown["status"], shown["tags"]) == ("queued", ["lora"])
    assert "position 1" in skydeck("run", "show", run_id).out
    log = skydeck("run", "logs", run_id)
    assert (log.status, log.out) == (0, "")
    assert "no log yet" in log.err
    assert "wanted is stop" in skydeck("run", "stop", run_id).out
    refused = skydeck("run", "resume", run_id)
    assert refused.status == 1
    assert "queued" in refused.err


def test_a_submission_as_json(skydeck: Skydeck) -> None:
    run = json.loads(skydeck("run", "submit", RECIPE, "--name", "mine", "--json").out)
    assert (run["name"], run["status"]) == ("mine", "queued")
    [listed] = json.loads(skydeck("run", "list", "--json").out)["items"]
    assert listed["id"] == run["id"]


@pytest.mark.parametrize("kind", ["json", "toml"])
def test_a_submission_from_a_file(skydeck: Skydeck, tmp_path: Path, kind: str) -> None:
    plan = {"recipe": RECIPE, "name": "filed", "config": {"trainer": {"seed": 2}}}
    texts = {
        "json": json.dumps(plan),
        "toml": f'recipe = "{RECIPE}"\nname = "filed"\n[config]\ntrainer.seed = 2\n',
    }
    file = tmp_path / f"plan.{kind}"
    file.write_text(texts[kind])
    answer = skydeck("run", "submit", str(file), "--set", "generator.max_turns=16", "--json")
    run = json.loads(answer.out)
    assert run["name"] == "filed"
    assert (run["config"]["trainer.seed"], run["config"]["generator.max_turns"]) == (2, 16)


def test_refusals_name_the_field(skydeck: Skydeck) -> None:
    answer = skydeck("run", "submit", RECIPE, "--set", "trainer.sead=1")
    assert (answer.status, answer.out) == (1, "")
    assert "trainer.seed" in answer.err
    assert answer.err.count("trainer.sead") == 1
    assert "no run run-none" in skydeck("run", "show", "run-none").err
    assert "no run run-none" in skydeck("run", "logs", "run-none").err
    assert skydeck("run", "list", "--sort", "colour").err.count("metric:<key>") == 1


def test_a_refused_cluster_leaves_no_experiment(skydeck: Skydeck, server: str) -> None:
    answer = skydeck("run", "submit", RECIPE, "--cluster", "moon")
    assert (answer.status, answer.out) == (1, "")
    assert "moon" in answer.err
    token = skydeck("token", "create", "--name", "x").out.strip()
    headers = {"Authorization": f"Bearer {token}"}
    found = httpx.get(f"{server}/api/v1/experiments", headers=headers, trust_env=False)
    assert found.json()["items"] == []


def test_its_own_token_is_private_and_renewed(skydeck: Skydeck, home: Path) -> None:
    assert skydeck("run", "list").status == 0
    file = home / TOKEN_FILE
    first = file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert skydeck("run", "list").status == 0
    assert file.read_text() == first
    file.write_text("sky_revoked")
    assert skydeck("run", "list").status == 0
    assert file.read_text() not in (first, "sky_revoked")


def test_a_given_token_is_used(
    skydeck: Skydeck, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SKYDECK_TOKEN", "sky_wrong")
    answer = skydeck("run", "list")
    assert answer.status == 1
    assert "token" in answer.err
    assert not (home / TOKEN_FILE).exists()


def test_its_own_token_is_not_sent_elsewhere(
    skydeck: Skydeck, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SKYDECK_URL", "http://skydeck.example")
    answer = skydeck("run", "list")
    assert answer.status == 1
    assert "SKYDECK_TOKEN" in answer.err


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("ftp://x", "must start with http or https"),
        ("localhost:8000", "must start with http or https"),
        ("http://", "names no host"),
        ("http://x:port", "no address"),
        ("http://[x", "no address"),
    ],
)
@pytest.mark.parametrize("token", [(), ("--token", "sky_x")])
def test_what_is_no_address(skydeck: Skydeck, url: str, said: str, token: tuple[str, ...]) -> None:
    answer = skydeck("run", "--url", url, *token, "list")
    assert (answer.status, answer.out) == (1, "")
    assert said in answer.err


def test_a_run_that_is_executed_outside(skydeck: Skydeck, server: str) -> None:
    token = skydeck("token", "create", "--name", "x").out.strip()
    with Client(server, token) as client:
        run_id = client.create_external_run("mine")["id"]
        client.push(run_id, [{"key": "loss", "step": 7, "value": 1.0}])
    assert f"{run_id}  running  7 " in skydeck("run", "list").out
    log = skydeck("run", "logs", run_id)
    assert (log.status, log.out) == (0, "")
    assert "outside Skydeck" in log.err
    assert f"skydeck run finish {run_id}" in skydeck("run", "stop", run_id).err
    assert "succeeded" in skydeck("run", "finish", run_id, "--status", "done").err
    assert skydeck("run", "finish", run_id, "--status", "failed").out == f"{run_id} failed\n"


def test_the_client_takes_in_whole_runs(skydeck: Skydeck, server: str) -> None:
    token = skydeck("token", "create", "--name", "x").out.strip()
    with Client(server, token) as client:
        columns = {"step": [1, 2], "loss": [float("inf"), 0.5], "kl": [None, 0.1]}
        given = {"name": "seed 1", "experiment": "old", "status": "failed", "metrics": columns}
        [made] = client.import_runs([given])
        assert made["name"] == "seed 1"
        loss, kl = client.read_series([made["id"]], ["loss", "kl"])
        assert (loss["value"], kl["step"]) == ([None, 0.5], [2])
        assert client.get_run(made["id"])["status"] == "failed"


def test_following_an_ended_run(
    skydeck: Skydeck, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = skydeck("token", "create", "--name", "x").out.strip()
    with Client(server, token) as client:
        good, bad = (client.create_external_run(name)["id"] for name in ("good", "bad"))
        client.finish(good, "succeeded")
        client.finish(bad, "failed")
    assert skydeck("run", "logs", good, "--follow").status == 0
    answer = skydeck("run", "logs", bad, "--follow")
    assert answer.status == 1
    assert "failed" in answer.err


def test_the_client_from_push_to_series(skydeck: Skydeck, server: str) -> None:
    token = skydeck("token", "create", "--name", "x").out.strip()
    with Client(server, token) as client:
        run = client.create_external_run("mine", config={"lr": 0.1})
        points: list[dict[str, Any]] = [
            {"key": "loss", "step": 1, "value": float("nan")},
            {"key": "loss", "step": 2, "value": 0.5},
        ]
        assert client.push(run["id"], points) == 2
        [series] = client.read_series([run["id"]], ["loss"])
        assert series["value"] == [None, 0.5]
        assert [metric["key"] for metric in client.list_metrics(run["id"])] == ["loss"]
        client.finish(run["id"])
        assert [event["to"] for event in client.list_events(run["id"])] == ["running", "succeeded"]
        assert client.delete_run(run["id"])["deleted_at"]
        assert client.list_runs()["items"] == []
        assert client.restore_run(run["id"])["deleted_at"] is None
        assert client.validate(RECIPE, {})["ok"]
        assert "train_job.sh" in client.render(RECIPE, {})["files"]
        assert RECIPE in [recipe["name"] for recipe in client.list_recipes()]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", "[]"),
        ("a.json", "{"),
        ("a.toml", "x = "),
        ("a.json", '{"config": {}}'),
        ("a.json", '{"recipe": "x", "colour": 1}'),
        ("a.json", '{"recipe": 1}'),
    ],
)
def test_files_that_are_no_plan(tmp_path: Path, name: str, text: str) -> None:
    file = tmp_path / name
    file.write_text(text)
    with pytest.raises(SkydeckError, match="a\\."):
        read_plan(str(file), [])


def test_assignments(tmp_path: Path) -> None:
    plan = read_plan("r", ["a=1", "b=2e-3", "c=true", "d=easy-15", "e=", "f=x=y", 'g="7"'])
    wanted = {"a": 1, "b": 0.002, "c": True, "d": "easy-15", "e": "", "f": "x=y", "g": "7"}
    assert plan.config == wanted
    assert (plan.recipe, plan.name) == ("r", "r")
    for wrong in ("a", "=1"):
        with pytest.raises(SkydeckError, match="KEY=VALUE"):
            read_plan("r", [wrong])
    with pytest.raises(SkydeckError, match="cannot be read"):
        read_plan(str(tmp_path / "none.json"), [])
