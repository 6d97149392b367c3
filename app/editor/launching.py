"""A draft becomes a run, or a config version of an experiment."""

from collections.abc import Mapping

from sqlalchemy.ext.asyncio import AsyncSession

from app.access.principal import Principal
from app.editor.draft import CLUSTER, EXPERIMENT, NAME, OF, PROJECT, YAML, Draft
from app.errors import Invalid, NotFound, Problem
from app.experiments import service as experiments
from app.models import Experiment, Project, Run
from app.names import checked_name
from app.projects import service as projects
from app.recipes import service as recipes
from app.recipes.model import Value
from app.runs import service as runs


async def launch(session: AsyncSession, draft: Draft, principal: Principal) -> Run:
    """A run of the draft, in the experiment that it names, which is made if it is missing.

    Where there is one of the same recipe, the config is that run's alone, unless it is the newest
    version itself. Where only comments differ from that, they make the next version: a run of the
    same values is a run of a version. Raises `Invalid` with all that keeps it from being launched.
    """
    _refuse(draft)
    project = await projects.choose(session, principal, draft.naming.get(PROJECT))
    values = recipes.resolve(draft.recipe.name, draft.config)
    yaml = draft.typed_yaml()
    experiment = await _find_alike(session, project, draft)
    if experiment is None:
        experiment = await _create(session, project, draft, principal)
    elif await _is_newest(session, experiment, values):
        await experiments.add_version(
            session, experiment, draft.config, actor=principal.actor, yaml=yaml
        )
    return await runs.create(
        session,
        experiment,
        actor=principal.actor,
        cluster=draft.naming.get(CLUSTER, "").strip() or None,
        config=values,
        yaml=yaml,
        name=draft.naming.get(NAME, "").strip() or None,
    )


async def save(
    session: AsyncSession, draft: Draft, principal: Principal
) -> tuple[Experiment, bool]:
    """The draft as the newest version of its experiment; False: it is that already.

    The experiment is made if it is missing. Raises `Invalid`.
    """
    _refuse(draft)
    project = await projects.choose(session, principal, draft.naming.get(PROJECT))
    experiment = await find(session, project, draft)
    if experiment is None:
        return await _create(session, project, draft, principal), True
    _, is_new = await experiments.add_version(
        session,
        experiment,
        draft.config,
        actor=principal.actor,
        recipe=draft.recipe.name,
        yaml=draft.typed_yaml(),
    )
    return experiment, is_new


async def find(session: AsyncSession, project: Project, draft: Draft) -> Experiment | None:
    """The experiment that the draft goes into: the one that it came from while that is its name,
    else the newest of that name. Raises `Invalid` for what is no name."""
    name, slug = _name(draft), draft.naming.get(OF, "")
    try:
        origin = await experiments.get(session, slug) if slug else None
    except NotFound:
        origin = None
    if origin is not None and (origin.name, origin.project_id) == (name, project.id):
        return origin
    return await experiments.find_by_name(session, project, name)


def _refuse(draft: Draft) -> None:
    if draft.fault is not None:
        raise Invalid(str(draft.fault), [Problem(YAML, "yaml", str(draft.fault))])
    problems = [
        Problem(key, each.rule, each.message) for each in draft.findings() for key in each.fields
    ]
    if problems:
        raise Invalid(problems[0].message, problems)


async def _find_alike(session: AsyncSession, project: Project, draft: Draft) -> Experiment | None:
    """The experiment that the draft goes into, if it is one of the same recipe."""
    found = await find(session, project, draft)
    newest = await experiments.newest_config(session, found) if found else None
    return found if newest is not None and newest.recipe == draft.recipe.name else None


async def _is_newest(
    session: AsyncSession, experiment: Experiment, values: Mapping[str, Value]
) -> bool:
    newest = await experiments.newest_config(session, experiment)
    return newest is not None and newest.values == values


async def _create(
    session: AsyncSession, project: Project, draft: Draft, principal: Principal
) -> Experiment:
    return await experiments.create(
        session,
        project=project,
        name=_name(draft),
        recipe=draft.recipe.name,
        config=draft.config,
        actor=principal.actor,
        yaml=draft.typed_yaml(),
    )


def _name(draft: Draft) -> str:
    """Its problem is said of the experiment's field: `name` is the run's here."""
    try:
        return checked_name(draft.naming.get(EXPERIMENT, "").strip() or draft.recipe.name)
    except Invalid as error:
        problems = [Problem(EXPERIMENT, each.rule, each.message) for each in error.problems]
        raise Invalid(error.message, problems) from None
