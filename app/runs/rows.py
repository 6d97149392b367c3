"""The rows that making and changing runs leave: the run, its config values, events, audit."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from app.access.principal import Actor
from app.audit import service as audit
from app.audit.actions import Action
from app.audit.service import Target
from app.clock import utcnow
from app.experiments import service as experiments
from app.ids import new_id, new_slug
from app.models import Config, DesiredStatus, Event, Experiment, Run, RunStatus
from app.models import RunOrigin as Origin
from app.names import checked_name
from app.recipes import service as recipes
from app.runs.repository import Facts, add_facts

EXTERNAL_RECIPE = "external"
_COMPARED = (
    "name",
    "tags",
    "config_id",
    "cluster_id",
    "status",
    "desired_status",
    "deleted_at",
    "pinned_at",
    "archived_at",
)


def new_run(
    experiment: Experiment,
    config: Config,
    *,
    actor: Actor,
    name: str | None,
    tags: Sequence[str],
    status: RunStatus = RunStatus.QUEUED,
) -> Run:
    """A run that is due at once, in no session yet. Raises `Invalid` for name and tags."""
    now = utcnow()
    return Run(
        id=new_id(),
        slug=new_slug("run"),
        name=checked_name(name or experiment.name),
        project_id=experiment.project_id,
        experiment_id=experiment.id,
        config_id=config.id,
        origin=Origin.SUBMITTED,
        status=status,
        desired_status=DesiredStatus.RUN,
        tags=experiments.checked_tags(tags),
        owner=actor.name,
        created_at=now,
        due_at=now,
    )


def new_external(
    experiment: Experiment,
    *,
    actor: Actor,
    name: str,
    config: Mapping[str, Any],
    tags: Sequence[str],
) -> tuple[Run, Config]:
    """A run that somebody else executes, running at once, and its config; in no session yet.

    Raises `Invalid` for name and tags.
    """
    frozen = Config(
        id=new_id(),
        experiment_id=experiment.id,
        version=None,
        recipe=EXTERNAL_RECIPE,
        recipe_version=1,
        digest=experiments.digest(EXTERNAL_RECIPE, 1, config),
        values=dict(config),
        created_by=actor.name,
        created_at=utcnow(),
    )
    run = new_run(experiment, frozen, actor=actor, name=name, tags=tags, status=RunStatus.RUNNING)
    run.origin = Origin.EXTERNAL
    run.started_at = run.created_at
    run.due_at = None
    return run, frozen


async def add_values(session: AsyncSession, made: Iterable[tuple[Run, Config]]) -> None:
    """Config values and tags of stored runs, for filter, sort and difference.

    In a few statements without objects: a sweep makes fifteen thousand of them.
    """
    facts = [Facts(run.id, list(recipes.flatten(config.values)), run.tags) for run, config in made]
    await add_facts(session, facts)


def note(run: Run, *, actor: Actor, kind: str, at: datetime) -> Event:
    """An event that is no change of status."""
    return Event(run_id=run.id, at=at, actor=actor.name, kind=kind, reason=kind, message="")


def wish_note(run: Run, desired: DesiredStatus, *, actor: Actor, reason: str) -> Event:
    made = note(run, actor=actor, kind="desired_status", at=utcnow())
    made.to_status, made.reason = desired, reason
    return made


def record(
    session: AsyncSession,
    actor: Actor,
    action: Action,
    run: Run,
    before: Mapping[str, Any] | None = None,
) -> None:
    """The row of the audit log."""
    target = Target("run", run.slug, run.project_id)
    audit.record(session, actor, action, target, before=before, after=fields(run))


def fields(run: Run) -> dict[str, Any]:
    """What the audit log compares. The config is frozen: its id stands for it."""
    return {name: getattr(run, name) for name in _COMPARED}
