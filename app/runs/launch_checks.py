"""What a launch is refused for, beyond what the recipe says of its values."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app.code import service as code
from app.errors import Conflict, Invalid, Problem
from app.models import Cluster, Config, Run
from app.recipes import service as recipes
from app.recipes.sources import uploaded_digest
from app.runs.policy import barriers
from app.secrets import service as secrets


async def check_launch(session: AsyncSession, run: Run, config: Config, cluster: Cluster) -> None:
    """Raises `Invalid` if the cluster may not run it, or the project lacks what it names.

    That are secrets, and an uploaded zip of code.
    """
    found = barriers(cluster, config.recipe, config.values)
    if found:
        problems = [Problem(each.field, each.rule, f"{each.message}: {each.fix}") for each in found]
        raise Invalid(problems[0].message, problems)
    names = recipes.secret_names(config.values)
    await secrets.require_known(session, run.project_id, names, field=recipes.SECRETS)
    if uploaded_digest(config.values.get(code.WORKING_DIR)) is not None:
        files = recipes.render(recipes.get(config.recipe), config.values).files
        await code.require_uploaded(session, run.project_id, config.values, files)


async def check_texts(
    session: AsyncSession, project_id: UUID, values: Mapping[str, Any], **texts: Any
) -> None:
    """Raises `Invalid` if a value of a config, or one of the texts by field, holds a secret."""
    await secrets.refuse_values(session, [project_id], {**values, **texts})


async def check_resume(session: AsyncSession, run: Run) -> None:
    """Raises `Conflict` if the run's cluster may not start it again."""
    await session.refresh(run, ["config", "cluster"])
    require_allowed(run)


def require_allowed(run: Run) -> None:
    """As `check_resume`, for a run that is loaded with its config and cluster."""
    found = barriers(run.cluster, run.config.recipe, run.config.values) if run.cluster else []
    if found:
        raise Conflict(f"{found[0].message}: {found[0].fix}")
