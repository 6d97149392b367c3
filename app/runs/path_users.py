"""Which other runs write to the paths of a config: two of them spoil each other's files."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app.errors import Invalid
from app.models import Cluster, Config, Run
from app.recipes import service as recipes
from app.recipes.model import Findings, Recipe
from app.recipes.service import OtherRun
from app.runs import repository
from app.runs.policy import place_on

_MOST = 20


async def list_path_users(
    session: AsyncSession,
    recipe: Recipe,
    config: Mapping[str, Any],
    cluster: Cluster,
    *,
    projects: frozenset[UUID] | None,
) -> list[OtherRun]:
    """Unfinished runs on the cluster, in `projects` (None: in all), that name one of its paths.

    The newest 20 at most, in one query; in none for a config whose paths are all a run's own.
    """
    paths = recipes.shared_paths(recipe, config)
    if not paths or cluster.id is None:
        return []
    found = await repository.list_path_users(session, cluster.id, paths, projects, limit=_MOST)
    return [recipes.other_run(name, used) for name, used in found]


async def caution(session: AsyncSession, run: Run, config: Config, cluster: Cluster) -> str:
    """What its first event says of a new run that writes where others of its project do, if so.

    Raises `Invalid` for one that asks for more GPUs than the cluster has.
    """
    recipe, projects = recipes.get(config.recipe), frozenset({run.project_id})
    others = await list_path_users(session, recipe, config.values, cluster, projects=projects)
    found = recipes.examine(recipe, config.values, place_on(cluster, others)).findings
    too_much = tuple(each for each in found.errors if each.rule in recipes.ABOUT_CLUSTER)
    if too_much:
        problems = recipes.problems(Findings(errors=too_much))
        raise Invalid(problems[0].message, problems)
    said = [each for each in found.warnings if each.rule in recipes.ABOUT_OTHER_RUNS]
    return ". ".join(each.message for each in said)
