"""Configs that the real SkyRL accepted or refused: our rules say the same of each."""

import json
from typing import Any

import pytest

from app.recipes.skyrl.overrides import parse_overrides
from app.recipes.skyrl.rules import check, skyrl_refuses
from app.recipes.skyrl.tree import load_tree
from tests.conformance.cases import case_files

Case = dict[str, Any]
FILES = [json.loads(path.read_text()) for path in case_files("skyrl", "validate-cases*.json")]
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
