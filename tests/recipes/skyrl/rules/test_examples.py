"""Each rule by its id: what breaks it, what does not, and that its fix ends it."""

import pytest

from app.recipes.model import Finding
from app.recipes.skyrl.rules import RULES, Kind
from app.recipes.skyrl.rules.registry import rules_of
from app.recipes.skyrl.tree import load_tree
from tests.recipes.skyrl.rules.example import Example
from tests.recipes.skyrl.rules.examples import ERRORS
from tests.recipes.skyrl.rules.examples_of_warnings import WARNINGS
from tests.recipes.skyrl.rules.tutorial import HEAD, findings, ids, parse, put

EXAMPLES = ERRORS | WARNINGS
FIXED_IN_DATA = {"trap.unseeded_rows", "trap.eval_seeds_trained"}
CASES = [pytest.param(rule_id, example, id=rule_id) for rule_id, example in EXAMPLES.items()]


def test_every_rule_has_its_example() -> None:
    assert sorted(EXAMPLES) == sorted(RULES)


@pytest.mark.parametrize(
    "prefix", [*(f"V{n}" for n in range(1, 26)), *(f"E{n}" for n in range(1, 12))]
)
def test_every_rule_of_the_reference_is_there(prefix: str) -> None:
    assert any(rule_id.startswith(f"{prefix}.") for rule_id in RULES)


def test_errors_come_in_the_order_in_which_skyrl_asks() -> None:
    numbers = [int(each.id[1:].partition(".")[0]) for each in rules_of(Kind.REFUSED)]
    assert numbers == sorted(numbers)


@pytest.mark.parametrize(("rule_id", "example"), CASES)
def test_breaks_and_says_what_and_where(rule_id: str, example: Example) -> None:
    version = example.version or HEAD
    parsed = parse(*example.fails, version=version)
    found = [
        each for each in findings(parsed, example.known, example.cluster) if each.rule == rule_id
    ]
    assert found
    tree = load_tree(version)
    for finding in found:
        assert finding.message
        assert finding.fields
        assert all(tree.find(field) for field in finding.fields)


@pytest.mark.parametrize(("rule_id", "example"), CASES)
def test_holds(rule_id: str, example: Example) -> None:
    parsed = parse(*example.passes, version=example.version or HEAD)
    known = example.known_passing or example.known
    assert rule_id not in ids(findings(parsed, known, example.cluster))


@pytest.mark.parametrize(("rule_id", "example"), CASES)
def test_fix_ends_it_and_breaks_nothing_else(rule_id: str, example: Example) -> None:
    version = example.version or HEAD
    parsed = parse(*example.fails, version=version)
    before = findings(parsed, example.known, example.cluster)
    for finding in before:
        if finding.rule != rule_id or not finding.fix_values or rule_id in FIXED_IN_DATA:
            continue
        assert finding.fix
        fixed = put(parsed, dict(finding.fix_values), version=version)
        after = findings(fixed, example.known, example.cluster)
        assert finding.fields not in {each.fields for each in after if each.rule == rule_id}
        assert _errors(after) <= _errors(before)


def _errors(found: list[Finding]) -> set[str]:
    return {rule for rule in ids(found) if not rule.startswith(("trap.", "note."))}
