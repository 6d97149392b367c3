"""One look at a config: what is wrong with it, its full values, the GPUs that it asks for. Pure.

Everything is made out once: an editor asks for all of it with each key that is typed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from app.recipes import job_rules, skyrl_checks
from app.recipes import validate as checks
from app.recipes.common import normal
from app.recipes.model import Finding, Findings, Package, Recipe, Value
from app.recipes.skyrl.rules import ABOUT_CLUSTER
from app.recipes.skyrl.rules.context import ClusterResources, OtherRun

# A list may have a hundred thousand wrong entries.
_MOST_OF_A_RULE = 20
_JOB_RULES = {Package.SKYRL: job_rules.SKYRL_RULES, Package.COMMAND: job_rules.COMMAND_RULES}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a config is to run, as far as that is known.

    `other_runs` are those that may write while this one does.
    """

    cluster: ClusterResources | None = None
    is_embedded: bool = False
    other_runs: Sequence[OtherRun] = ()


ANYWHERE = Place()


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """`values` are the full ones in one spelling, None while no cluster could run them.

    `gpus` by what they are for; None where the values do not tell.
    """

    findings: Findings
    values: dict[str, Value] | None = None
    gpus: dict[str, int] | None = None


def examine(recipe: Recipe, config: Mapping[str, Any], place: Place = ANYWHERE) -> Examined:
    """All that can be said of a config whose missing keys take their defaults."""
    found, values = checks.look(recipe, config)
    gpus = None
    if values is not None:
        found, gpus = _look_further(recipe, values, found, place)
    else:
        found = _with_the_rest(recipe, config, found, place)
    is_sound = all(each.rule in ABOUT_CLUSTER for each in found.errors)
    refusal = embedded_refusal(recipe) if place.is_embedded else None
    if refusal:
        found = Findings((refusal, *found.errors), found.warnings, found.notes)
    return Examined(
        findings=found,
        values=normal(values) if values is not None and is_sound else None,
        gpus=gpus,
    )


def gpus_asked(recipe: Recipe, values: Mapping[str, Any]) -> dict[str, int] | None:
    """GPUs that full values ask for, by what they are for; None where the values do not tell."""
    if recipe.tree is None:
        return _gpus_of_command(recipe, values)
    return skyrl_checks.gpus_by_part(skyrl_checks.parse(recipe, values))


def embedded_refusal(recipe: Recipe) -> Finding | None:
    """Why the embedded cluster cannot run a recipe, whoever allows it; None if it can."""
    if recipe.package is not Package.SKYRL:
        return None
    return Finding(
        rule="embedded_cluster",
        fields=("cluster",),
        message=f"The embedded cluster cannot run {recipe.name}: it has no GPUs, no vLLM and no "
        "SkyRL, and this recipe needs all three",
        fix="connect a Ray cluster that has them, or render the job here and submit it yourself",
    )


def _with_the_rest(
    recipe: Recipe, config: Mapping[str, Any], found: Findings, place: Place
) -> Findings:
    """Values that are wrong by themselves, with what can be said of the others meanwhile.

    Of a wrong value only that is said: rules see the default in its place.
    """
    wrong = found.keys
    rest = {key: value for key, value in config.items() if key not in wrong}
    further, values = checks.look(recipe, rest) if wrong else (found, None)
    if values is None:
        return found
    further, _ = _look_further(recipe, values, further, place)
    return found.with_those_of_others(further)


def _look_further(
    recipe: Recipe, values: Mapping[str, Any], found: Findings, place: Place
) -> tuple[Findings, dict[str, int] | None]:
    """Values that are right by themselves: as a job, and as SkyRL sees them."""
    errors = found.errors
    if found.ok:
        rules = _JOB_RULES.get(recipe.package, ())
        errors = tuple(e for rule in rules for e in islice(rule(values), _MOST_OF_A_RULE))
    found = Findings(errors, found.warnings, found.notes)
    if recipe.tree is None:
        return found, _gpus_of_command(recipe, values)
    parsed = skyrl_checks.parse(recipe, values)
    if found.ok:
        found = skyrl_checks.examine(
            recipe, values, parsed, cluster=place.cluster, other_runs=place.other_runs
        )
    return found, skyrl_checks.gpus_by_part(parsed)


def _gpus_of_command(recipe: Recipe, values: Mapping[str, Any]) -> dict[str, int]:
    count = values.get("job.gpus") if recipe.package is Package.COMMAND else 0
    return {"the command": count} if isinstance(count, int) and count else {}
