"""Override lists: what our parser makes of them, and what the real SkyRL does."""

import json
import subprocess
from pathlib import Path
from random import Random
from typing import Any

import pytest

from app.recipes.skyrl.overrides import Parsed, check_values, parse_overrides
from app.recipes.skyrl.tree import load_tree
from app.recipes.skyrl.values import render_override
from tests.conformance.cases import case_files
from tests.conformance.skyrl_near import draw
from tests.conformance.skyrl_real import encode

Case = dict[str, Any]
HERE = Path(__file__).parent
FILES = [json.loads(path.read_text()) for path in case_files("skyrl", "cli-cases*.json")]
CASES = [
    (content["meta"].get("skyrl_commit", "0.4.0"), case)
    for content in FILES
    for case in content["cases"]
]
DATA = HERE.parents[1] / "app" / "recipes" / "skyrl" / "data"
COUNT = 2_000


@pytest.mark.parametrize(("commit", "case"), CASES, ids=lambda value: str(value)[:80])
def test_recorded_cases_agree(commit: str, case: Case) -> None:
    parsed = parse_overrides(case["args"], load_tree(commit))
    assert parsed.accepted == case["ok"], parsed.problems
    if case["ok"] and "read_key" in case:
        value = parsed.read(case["read_key"])
        assert (value, type(value).__name__) == (case["value"], case["python_type"])
    if not case["ok"]:
        assert all(problem.message for problem in parsed.problems)
    if case.get("warnings"):
        assert parsed.notes


@pytest.mark.slow_env
@pytest.mark.timeout(540)
def test_random_configs_near_the_tutorial_agree_with_the_real_parser(real_python: Path) -> None:
    tree = load_tree("0.4.0")
    random = Random(20260101)
    lists = [draw(random, tree) for _ in range(COUNT)]
    ours = [_outcome(parse_overrides(args, tree)) for args in lists]
    theirs = ask_real(real_python, lists)
    pairs = list(zip(lists, ours, theirs, strict=True))
    verdicts = [pair for pair in pairs if ("error" in pair[1]) != ("error" in pair[2])]
    values = [pair for pair in pairs if pair not in verdicts and not _same(pair[1], pair[2])]
    accepted = sum("error" not in each for each in theirs)
    print(  # noqa: T201 - the count is what `make conformance` shows
        f"\nSkyRL 0.4.0, {COUNT} override lists, {accepted} accepted by it: "
        f"{len(verdicts)} disagreements of verdict, {len(values)} of values"
    )
    assert 0.2 * COUNT < accepted < 0.8 * COUNT, "the lists should be neither all good nor all bad"
    assert not verdicts, verdicts[:5]
    assert not values, [(args, _first_difference(a, b)) for args, a, b in values[:5]]


@pytest.mark.slow_env
def test_values_written_out_are_the_same_to_the_real_parser(real_python: Path) -> None:
    """What is stored is what was given: `values` rendered again build the same config there."""
    tree = load_tree("0.4.0")
    random = Random(7)
    lists = [draw(random, tree) for _ in range(300)]
    parsed = [parse_overrides(args, tree) for args in lists]
    kept = [each for each in parsed if each.accepted and not each.wrong_types]
    rendered = [[render_override(k, v) for k, v in each.values.items()] for each in kept]
    theirs = ask_real(real_python, rendered)
    assert len(kept) > 30
    for each, args, result in zip(kept, rendered, theirs, strict=True):
        assert _same(_outcome(each), result), args
        assert _same(_outcome(check_values(each.values, tree)), result), each.values


@pytest.mark.slow_env
def test_the_shipped_tree_is_what_the_script_dumps(real_python: Path) -> None:
    """`docker/dump_config_tree.py`, as it runs inside an image."""
    program = "import skyrl_real, dump_config_tree\nskyrl_real.load()\ndump_config_tree.main()\n"
    docker = HERE.parents[1] / "docker"
    done = subprocess.run(
        [real_python, "-c", program, "--choices", DATA / "0.4.0.json"],
        capture_output=True,
        text=True,
        timeout=240,
        env={"HOME": "/home/me", "PATH": "/usr/bin:/bin", "PYTHONPATH": f"{HERE}:{docker}"},
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == json.loads((DATA / "0.4.0.json").read_text())


def ask_real(python: Path, lists: list[list[str]]) -> list[Case]:
    """One result a list, from one process. `~` as home keeps the defaults as the tree has them."""
    done = subprocess.run(
        [python, HERE / "skyrl_real.py"],
        input=json.dumps(lists),
        capture_output=True,
        text=True,
        timeout=300,
        env={"HOME": "~", "PATH": "/usr/bin:/bin"},
    )
    assert done.returncode == 0, done.stderr
    results: list[Case] = json.loads(done.stdout)
    return results


def _outcome(parsed: Parsed) -> Case:
    if not parsed.accepted:
        return {"error": "; ".join(problem.message for problem in parsed.problems)}
    groups = ("data", "trainer", "generator", "environment")
    return {"config": encode({group: parsed.read(group) for group in groups})}


def _same(ours: Case, theirs: Case) -> bool:
    return ("error" in ours and "error" in theirs) or ours == theirs


def _first_difference(ours: Any, theirs: Any) -> object:
    if isinstance(ours, dict) and isinstance(theirs, dict) and ours.keys() == theirs.keys():
        for key in ours:
            if ours[key] != theirs[key]:
                return _first_difference(ours[key], theirs[key])
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for mine, other in zip(ours, theirs, strict=True):
            if mine != other:
                return _first_difference(mine, other)
    return ours, theirs
