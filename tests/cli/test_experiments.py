"""`skydeck experiment` and `skydeck sweep` against a real server."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Skydeck

SEED = "trainer.seed"


@pytest.fixture
def experiment(skydeck: Skydeck, server: str) -> str:
    """The id of an experiment, made with its first run."""
    assert skydeck("run", "submit", "embedded-maze-grpo", "--name", "rank").status == 0
    listed = skydeck("experiment", "list", "--query", "rank", "--json")
    return str(json.loads(listed.out)["items"][0]["id"])


def test_versions_are_saved_compared_and_forked(
    skydeck: Skydeck, experiment: str, tmp_path: Path
) -> None:
    file = tmp_path / "next.json"
    file.write_text(json.dumps({"recipe": "embedded-maze-grpo", "config": {SEED: 3}}))
    for _ in range(2):
        assert skydeck("experiment", "save", experiment, str(file)).out == "2\n"
    for arguments in ((), ("1", "2")):
        found = skydeck("experiment", "diff", experiment, *arguments)
        assert (found.status, found.out) == (0, f"{SEED}: 0 → 3\n")
    shown = skydeck("experiment", "show", experiment).out
    assert "version 2" in shown
    assert f"{SEED}: 0 → 3" in shown
    fork = skydeck("experiment", "fork", experiment, "--version", "1", "--name", "mine").out.strip()
    assert f"forked from {experiment} version 1" in skydeck("experiment", "show", fork).out
    assert skydeck("experiment", "archive", experiment).out == f"{experiment} archived\n"
    assert experiment not in skydeck("experiment", "list").out
    assert experiment in skydeck("experiment", "list", "--archived").out
    assert skydeck("experiment", "restore", experiment).status == 0
    assert skydeck("experiment", "diff", experiment, "1", "9").status == 1


def test_comments_of_a_yaml_file_are_kept(
    skydeck: Skydeck, experiment: str, tmp_path: Path
) -> None:
    printed = skydeck("experiment", "config", experiment).out
    assert printed.startswith("recipe: embedded-maze-grpo\n")
    assert f'"{SEED}": 0\n' in printed
    file = tmp_path / "next.yaml"
    file.write_text(f"# why\n{printed}".replace(f'"{SEED}": 0', f"{SEED}: 3 # not 0"))
    for _ in range(2):
        assert skydeck("experiment", "save", experiment, str(file)).out == "2\n"
    assert skydeck("experiment", "config", experiment).out == file.read_text()
    assert skydeck("experiment", "diff", experiment).out == f"{SEED}: 0 → 3\n"
    assert skydeck("experiment", "config", experiment, "1").out == printed
    file.write_text("trainer.seed: [3\n")
    refused = skydeck("experiment", "save", experiment, str(file))
    assert refused.status == 1
    assert "cannot be read" in refused.err
    assert skydeck("experiment", "save", experiment, str(tmp_path / "none.yaml")).status == 1


def test_a_sweep_is_previewed_made_and_stopped(
    skydeck: Skydeck, experiment: str, tmp_path: Path
) -> None:
    grid = ("--grid", f"{SEED}=1,2,x")
    seen = skydeck("sweep", "preview", experiment, *grid)
    assert seen.status == 1
    assert "3 configs" in seen.out
    assert "GPUs of cluster embedded: 0" in seen.out
    assert skydeck("sweep", "preview", experiment, *grid, "--cluster", "none").status == 1
    assert "error: run 3" in seen.out
    made = skydeck("sweep", "create", experiment, *grid, "--exclude", "3", "--max-running", "1")
    sweep = made.out.strip()
    shown = skydeck("sweep", "show", sweep).out.splitlines()
    assert shown[1] == "2 queued, at most 1 at a time"
    assert [line.split()[-1] for line in shown[2:]] == [SEED, "1", "2"]
    assert sweep in skydeck("sweep", "list", "--experiment", experiment).out
    assert skydeck("sweep", "stop", sweep).status == 0
    assert skydeck("sweep", "resume", sweep).status == 0
    space = tmp_path / "space.json"
    space.write_text(json.dumps({"kind": "explicit", "configs": [{SEED: 4}]}))
    assert skydeck("sweep", "preview", experiment, "--space", str(space)).status == 0
    space.write_text(
        json.dumps(
            {
                "kind": "random",
                "keys": {SEED: {"kind": "int", "low": 1, "high": 3}},
                "count": 50,
                "seed": 0,
            }
        )
    )
    few = "only 3 different configs can be drawn, not 50"
    assert few in skydeck("sweep", "preview", experiment, "--space", str(space)).out
    assert few in skydeck("sweep", "create", experiment, "--space", str(space)).err
    twice = ("--grid", f"{SEED}=1,2", "--grid", f"{SEED}=3,4")
    refused = skydeck("sweep", "preview", experiment, *twice)
    assert refused.status == 1
    assert "given twice" in refused.err
    refused = skydeck("sweep", "preview", experiment, *twice[:2], "--exclude", "9")
    assert refused.status == 1
    assert "no config 9 to leave out" in refused.out
    for wrong in ((), ("--grid", "seed"), ("--space", str(tmp_path / "none")), (*grid, *grid[:1])):
        assert skydeck("sweep", "preview", experiment, *wrong).status != 0
