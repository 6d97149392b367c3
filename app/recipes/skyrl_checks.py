"""What SkyRL would say of a config, and what we know better. Pure functions."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from app.recipes import skyrl_job
from app.recipes.model import Finding, Findings, Recipe
from app.recipes.skyrl.overrides import Parsed, check_values
from app.recipes.skyrl.rules import check, placement
from app.recipes.skyrl.rules.context import ClusterResources, Context, DataSet, OtherRun
from app.recipes.skyrl.rules.view import Unfit, View
from app.recipes.skyrl.tree import KeyTree, compare_revision, load_tree

_REVISION = "job.skyrl_revision"
_RUN_FOLDER = "/shared/runs/{run_id}"


@cache
def tree_of(version: str) -> KeyTree:
    """A shipped key tree, read once."""
    return load_tree(version)


def examine(
    recipe: Recipe,
    values: Mapping[str, Any],
    parsed: Parsed,
    *,
    cluster: ClusterResources | None = None,
    other_runs: Sequence[OtherRun] = (),
) -> Findings:
    """Keys, types and rules of SkyRL over full values and what `parse` made of them."""
    if parsed.problems:
        refused = Findings(errors=tuple(parsed.problems + parsed.wrong_types))
        rest = _without(recipe, values, refused)
        if rest is None or (again := parse(recipe, rest)).problems:
            return refused
        further = examine(recipe, rest, again, cluster=cluster, other_runs=other_runs)
        return refused.with_those_of_others(further)
    context = _context(values, parsed, cluster, other_runs)
    found = check(parsed.full, context=context)
    return Findings(
        errors=_once([*parsed.wrong_types, *found.errors]),
        warnings=(*_other_revision(recipe, values), *found.warnings),
        notes=_once([*parsed.notes, *found.notes]),
    )


def parse(recipe: Recipe, values: Mapping[str, Any]) -> Parsed:
    """What SkyRL makes of the values that are handed to it."""
    assert recipe.tree is not None
    return check_values(skyrl_job.overrides(recipe, values), tree_of(recipe.tree))


def gpus_by_part(parsed: Parsed) -> dict[str, int] | None:
    """GPUs that a run asks for, by what they are for; None where the values do not tell."""
    try:
        return None if parsed.problems else placement.gpus_by_part(View(parsed.full))
    except Unfit:
        return None


def _without(recipe: Recipe, values: Mapping[str, Any], refused: Findings) -> dict[str, Any] | None:
    """The values less those that SkyRL refuses; None if it has to see one of these."""
    keys, fields = refused.keys, recipe.fields()
    is_beyond = all(key in values and key not in fields for key in keys)
    return {k: v for k, v in values.items() if k not in keys} if keys and is_beyond else None


def _other_revision(recipe: Recipe, values: Mapping[str, Any]) -> list[Finding]:
    """A warning where the image is said to hold another SkyRL than the recipe was checked with."""
    said = values.get(_REVISION)
    if not said or recipe.tree is None:
        return []
    found = compare_revision(tree_of(recipe.tree), said, _REVISION)
    return [found] if found else []


def _context(
    values: Mapping[str, Any],
    parsed: Parsed,
    cluster: ClusterResources | None,
    other_runs: Sequence[OtherRun],
) -> Context:
    is_ours, first = values["job.make_data"], values["job.train_seed_offset"]
    rows, env_id = values["job.train_rows"], values["job.env_id"]
    seeds = None if first is None else range(first, first + rows)
    mazes = values["job.eval_rows"]
    return Context(
        given=parsed.values,
        environment=values["job.environment"],
        train=DataSet(rows=rows, env_id=env_id, seeds=seeds, seed_key="job.train_seed_offset")
        if is_ours
        else None,
        evaluation=DataSet(rows=mazes, env_id=env_id, seeds=range(mazes)) if is_ours else None,
        other_runs=other_runs,
        run_folder=_RUN_FOLDER,
        resumes_safely=True,
        wrong_types=frozenset(field for each in parsed.wrong_types for field in each.fields),
        cluster=cluster,
    )


def _once(found: list[Finding]) -> tuple[Finding, ...]:
    return tuple({(each.rule, each.fields): each for each in found}.values())
