"""Configs that the real SkyRL accepts or refuses: our rules say the same of each."""

import json
import subprocess
from pathlib import Path
from random import Random
from typing import Any

import pytest

from app.recipes.skyrl.overrides import parse_overrides
from app.recipes.skyrl.rules import check, skyrl_refuses
from app.recipes.skyrl.tree import load_tree
from tests.conformance.cases import case_files
from tests.conformance.skyrl_near_rules import draw

Case = dict[str, Any]
FILES = [json.loads(path.read_text()) for path in case_files("skyrl", "validate-cases*.json")]
HERE = Path(__file__).parent
RELEASE, COUNT = "0.4.0", 1_000
CASES = [
    pytest.param(
        content["meta"]["skyrl_commit"],
        (*content["base"], *case["overrides"]),
        case,
        id=case["name"],
    )
    for content in FILES
    for case in content["cases"]
]


@pytest.mark.parametrize(("commit", "overrides", "case"), CASES)
def test_verdict_is_the_real_programs(commit: str, overrides: tuple[str, ...], case: Case) -> None:
    parsed = parse_overrides(overrides, load_tree(commit))
    refused = [*parsed.problems, *skyrl_refuses(parsed.full)]
    assert (not refused) == case["ok"], refused or case.get("message")
    assert all(finding.message and finding.fields for finding in refused)


@pytest.mark.parametrize(("commit", "overrides", "case"), CASES)
def test_what_skyrl_refuses_is_an_error_of_the_form(
    commit: str, overrides: tuple[str, ...], case: Case
) -> None:
    parsed = parse_overrides(overrides, load_tree(commit))
    found = check(parsed.full)
    assert found.ok <= case["ok"] or parsed.problems


@pytest.mark.slow_env
@pytest.mark.timeout(540)
def test_random_configs_get_the_verdict_of_the_real_check(real_python: Path) -> None:
    random, tree = Random(20260102), load_tree(RELEASE)
    lists = [draw(random, tuple(FILES[0]["base"])) for _ in range(COUNT)]
    theirs = ask_real(real_python, lists)
    wrong = []
    for overrides, error in zip(lists, theirs, strict=True):
        parsed = parse_overrides(overrides, tree)
        ours = [each.rule for each in (*parsed.problems, *skyrl_refuses(parsed.full))]
        if bool(ours) != bool(error):
            wrong.append((overrides[len(FILES[0]["base"]) :], error, ours))
    accepted = sum(not each for each in theirs)
    print(  # noqa: T201 - the count is what `make conformance` shows
        f"\nSkyRL {RELEASE}, {COUNT} configs, {accepted} accepted by its whole check: "
        f"{len(wrong)} disagreements"
    )
    assert 0.2 * COUNT < accepted < 0.8 * COUNT, "the lists should be neither all good nor all bad"
    assert not wrong, wrong[:5]


def ask_real(python: Path, lists: list[list[str]]) -> list[str]:
    """The error of each list, empty if it is accepted, from one process without a W&B key."""
    done = subprocess.run(
        [python, HERE / "skyrl_real_check.py"],
        input=json.dumps(lists),
        capture_output=True,
        text=True,
        timeout=400,
        env={"HOME": "~", "PATH": "/usr/bin:/bin"},
    )
    assert done.returncode == 0, done.stderr
    results: list[str] = json.loads(done.stdout)
    return results
