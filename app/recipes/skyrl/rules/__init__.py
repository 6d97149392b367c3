"""SkyRL's rules, and ours, over a config before a GPU is asked for. Pure, like all of this package.

`check` says everything about the full values of a config; `skyrl_refuses` only what SkyRL's own
`validate_cfg` would refuse. Neither raises, whatever the values are.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from app.recipes.model import Finding, Findings
from app.recipes.skyrl.rules import (  # noqa: F401 importing a module registers its rules
    algorithm,
    batch,
    checkpoints,
    data,
    engine,
    generation,
    lora,
    megatron,
    notes,
    placement,
    profiler,
    release_0_4,
    rollout,
)
from app.recipes.skyrl.rules.context import (
    NOTHING_KNOWN,
    ClusterResources,
    Context,
    DataSet,
    OtherRun,
)
from app.recipes.skyrl.rules.placement import ABOUT_CLUSTER
from app.recipes.skyrl.rules.registry import RULES, Kind, Rule, ask_all
from app.recipes.skyrl.rules.view import View

__all__ = [
    "ABOUT_CLUSTER",
    "NOTHING_KNOWN",
    "RULES",
    "ClusterResources",
    "Context",
    "DataSet",
    "Kind",
    "OtherRun",
    "Rule",
    "check",
    "skyrl_refuses",
]


def check(
    full: Mapping[str, Any],
    *,
    cluster: ClusterResources | None = None,
    context: Context = NOTHING_KNOWN,
) -> Findings:
    """Errors, warnings and notes of full values: flat, after defaults and what SkyRL fills in.

    Errors are what SkyRL refuses and what is sure to fail later. A value of a wrong type is an
    error of rule `type` where SkyRL's check stops on it; rules of ours leave it out. Types of all
    keys are checked by `Parsed.wrong_types`, whose keys go into `context.wrong_types`.
    """
    known = context if cluster is None else replace(context, cluster=cluster)
    at = View(full)
    errors = ask_all(at, known, Kind.REFUSED, Kind.FAILS)
    return Findings(
        errors=tuple(each for each in errors if not _is_said(each, known)),
        warnings=tuple(ask_all(at, known, Kind.WARNING)),
        notes=tuple(ask_all(at, known, Kind.NOTE)),
    )


def skyrl_refuses(full: Mapping[str, Any], context: Context = NOTHING_KNOWN) -> list[Finding]:
    """Why `validate_cfg` would refuse the full values; empty if it accepts them."""
    return ask_all(View(full), context, Kind.REFUSED)


def _is_said(finding: Finding, context: Context) -> bool:
    return finding.rule == "type" and context.wrong_types.issuperset(finding.fields)
