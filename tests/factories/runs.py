"""Experiments and runs, made by the services."""

from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from app.access.principal import Actor
from app.clusters import service as clusters
from app.experiments import service as experiments
from app.models import Experiment, Project, Run
from app.projects import service as projects
from app.runs import service as runs

RECIPE = "embedded-maze-grpo"
ADA = Actor("ada", "user:ada")


async def make_experiment(
    session: AsyncSession,
    *,
    name: str = "Does rank matter?",
    config: dict[str, Any] | None = None,
    project: Project | None = None,
) -> Experiment:
    """In the default project unless told otherwise."""
    home = project or await projects.ensure_default(session)
    return await experiments.create(
        session, project=home, name=name, recipe=RECIPE, config=config or {}, actor=ADA
    )


async def make_run(
    session: AsyncSession, *, experiment: Experiment | None = None, name: str | None = None
) -> Run:
    """A queued run on the embedded cluster."""
    await clusters.ensure_embedded(session)
    home = experiment or await make_experiment(session)
    return await runs.create(session, home, actor=ADA, name=name)


async def make_external_run(
    session: AsyncSession, *, name: str = "from outside", project: Project | None = None
) -> Run:
    home = project or await projects.ensure_default(session)
    return await runs.create_external(session, project=home, name=name, actor=ADA)
