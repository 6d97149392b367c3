"""A sweep before it is made: the config of each run, checked. Pure.

Up to 200 configs are checked, which takes a second for the largest: call it in a thread.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from app.errors import Invalid, Problem
from app.experiments.digest import digest
from app.recipes import service as recipes
from app.recipes.model import RUN_ID, Finding, Value
from app.sweeps import expansion, naming
from app.sweeps.expansion import MAX_RUNS, Point, Space


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """The config version that a sweep varies, and the cluster that its runs are for."""

    recipe: str
    values: Mapping[str, Any]
    place: recipes.Place = field(default_factory=recipes.Place)
    refuse: Callable[[Mapping[str, Value]], Sequence[Finding]] = lambda _: ()
    """What the cluster's administrator does not allow of a config."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRun:
    """One config of a sweep, numbered from 1. `values` are complete; None while it has errors.

    `gpus` is how many it asks for; None where the values do not tell.
    """

    number: int
    name: str
    overrides: Point
    values: Mapping[str, Value] | None
    gpus: int | None
    errors: Sequence[Finding]
    warnings: Sequence[Finding]
    is_excluded: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """`total` configs are in the space, of which at most 200 are `runs`; `wanted` were asked for.

    `keys` are those that the sweep sets, `differing` those whose values differ between runs.
    `problems` are about the space itself, and then there are no runs, or about `exclude`.
    """

    runs: Sequence[PlannedRun]
    keys: Sequence[str]
    differing: Sequence[str]
    total: int
    wanted: int
    problems: Sequence[Problem] = ()

    @property
    def is_cut(self) -> bool:
        return self.total > len(self.runs)

    @property
    def chosen(self) -> list[PlannedRun]:
        """The runs that are made."""
        return [run for run in self.runs if not run.is_excluded]

    @property
    def all_problems(self) -> list[Problem]:
        """All that keeps the sweep from being made; of a run, under `runs.<number>.<key>`."""
        found = [*self.problems, *_of_size(self)]
        for run in self.chosen:
            for error in run.errors:
                message = f"run {run.number}: {error.message}"
                message += f": {error.fix}" if error.fix else ""
                field = error.fields[0] if error.fields else ""
                found.append(Problem(f"runs.{run.number}.{field}", error.rule, message))
        return found


def plan(basis: Basis, space: Space, exclude: Collection[int] = ()) -> Plan:
    """All runs of a space, each checked by its recipe. Nothing is refused here.

    The later of two runs with the same config has an error of its own, and so has each of several
    that would write to the same files.
    """
    keys = expansion.keys_of(space)
    wrong = expansion.problems(space)
    if wrong:
        return Plan(runs=[], keys=keys, differing=[], total=0, wanted=0, problems=wrong)
    found = expansion.expand(space)
    filled = [{**basis.values, **point} for point in found.points]
    differing = naming.differing(filled, keys)
    names = naming.short_names(differing or keys)
    first: dict[str, int] = {}
    runs = [
        _run(basis, number, point, naming.name_of(values, names), number in exclude, first)
        for number, (point, values) in enumerate(zip(found.points, filled, strict=True), start=1)
    ]
    return Plan(
        runs=_kept_apart(basis, runs),
        keys=keys,
        differing=differing,
        total=found.total,
        wanted=found.wanted,
        problems=_of_numbers(exclude, len(runs)),
    )


def require_ok(plan: Plan) -> None:
    """Raises `Invalid` with all problems of a plan that has any."""
    found = plan.all_problems
    if found:
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        raise Invalid(f"the sweep was not made: {found[0].message}{more}", found)


def _run(
    basis: Basis, number: int, point: Point, name: str, is_excluded: bool, first: dict[str, int]
) -> PlannedRun:
    """`first` is by digest the first run that is made with that config."""
    recipe = recipes.get(basis.recipe)
    config = {**basis.values, **point}
    looked = recipes.examine(recipe, config, basis.place)
    errors, values = list(looked.findings.errors), looked.values
    if values is not None:
        said = {each.fields for each in errors}
        errors += [each for each in basis.refuse(values) if each.fields not in said]
    if values is not None and not is_excluded:
        same = first.setdefault(digest(recipe.name, recipe.version, values), number)
        errors += [_repeated(point, same)] if same != number else []
    return PlannedRun(
        number=number,
        name=name,
        overrides=point,
        values=None if errors else values,
        gpus=None if looked.gpus is None else sum(looked.gpus.values()),
        errors=errors,
        warnings=looked.findings.warnings,
        is_excluded=is_excluded,
    )


def _kept_apart(basis: Basis, runs: list[PlannedRun]) -> list[PlannedRun]:
    """The runs, where those that share a path have an error: each goes on from another's files."""
    recipe = recipes.get(basis.recipe)
    paths = {
        run.number: recipes.fixed_paths(recipe, {**basis.values, **run.overrides})
        for run in runs
        if not run.is_excluded
    }
    users = Counter(path for own in paths.values() for path in own.items())
    return [
        _apart(run, [p for p in paths.get(run.number, {}).items() if users[p] > 1]) for run in runs
    ]


def _apart(run: PlannedRun, shared: list[tuple[str, str]]) -> PlannedRun:
    if not shared:
        return run
    errors = [
        Finding(
            rule="same_path",
            fields=(key,),
            message=f"{key} is {path} in more than one run of this sweep: each would overwrite the "
            "others' files, or go on from their checkpoints",
            fix=f"end it with {RUN_ID}, as in {path.rstrip('/')}/{RUN_ID}",
        )
        for key, path in shared
    ]
    return replace(run, values=None, errors=[*run.errors, *errors])


def _repeated(point: Point, number: int) -> Finding:
    return Finding(
        rule="same_config",
        fields=tuple(point),
        message=f"it has the same config as run {number}",
        fix="leave one of them out",
    )


def _of_numbers(exclude: Collection[int], count: int) -> list[Problem]:
    unknown = sorted(number for number in exclude if not 1 <= number <= count)
    if not unknown:
        return []
    message = f"there is no config {unknown[0]} to leave out: they are numbered 1 to {count}"
    return [Problem("exclude", "no_such_config", message)]


def _of_size(plan: Plan) -> list[Problem]:
    if not plan.runs:
        return []
    if plan.total > MAX_RUNS:
        message = (
            f"there are {plan.total:,} configs, and a sweep has at most {MAX_RUNS} runs: take "
            "fewer values, or draw some of them at random"
        )
        return [Problem("space", "too_large", message)]
    if not plan.chosen:
        message = "no run is left: every config is excluded"
        return [Problem("exclude", "none_left", message)]
    return []
