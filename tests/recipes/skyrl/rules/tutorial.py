"""The tutorial's overrides, as the real SkyRL was given them, and what is known beside them."""

import json
from collections.abc import Iterable
from functools import cache
from typing import Any

from app.recipes.model import Finding
from app.recipes.skyrl.overrides import Parsed, check_values, parse_overrides
from app.recipes.skyrl.rules import ClusterResources, Context, DataSet, check
from app.recipes.skyrl.tree import load_tree
from tests.conformance.cases import DATA

_RECORDED = json.loads((DATA / "skyrl" / "validate-cases.json").read_text())
BASE: tuple[str, ...] = tuple(_RECORDED["base"])
HEAD: str = _RECORDED["meta"]["skyrl_commit"]
RELEASE = "0.4.0"
CLUSTER = ClusterResources(name="hyperpod", gpus_by_node=(2, 2, 2))
TRAIN = DataSet(rows=256)
EVALUATION = DataSet(rows=64, seeds=range(64))


@cache
def parse(*overrides: str, version: str = HEAD) -> Parsed:
    """The tutorial's config with further overrides, which SkyRL's parser must accept."""
    parsed = parse_overrides([*BASE, *overrides], load_tree(version))
    assert parsed.accepted, parsed.problems
    return parsed


def put(parsed: Parsed, values: dict[str, Any], *, version: str = HEAD) -> Parsed:
    """The config with values put into its form."""
    changed = check_values({**parsed.values, **values}, load_tree(version))
    assert changed.accepted, changed.problems
    return changed


def findings(
    parsed: Parsed, context: Context, cluster: ClusterResources | None = None
) -> list[Finding]:
    """Everything that is found, errors first."""
    found = check(parsed.full, cluster=cluster, context=context)
    return [*found.errors, *found.warnings, *found.notes]


def ids(found: Iterable[Finding]) -> set[str]:
    return {finding.rule for finding in found}
