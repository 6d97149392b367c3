"""Experiments: named questions, their config versions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app.access.principal import Actor
from app.audit import service as audit
from app.audit.actions import Action
from app.audit.service import Target
from app.clock import utcnow
from app.errors import Conflict, Invalid, NotFound, Problem
from app.experiments import repository
from app.experiments.digest import digest
from app.experiments.versions import (
    YAML,
    add_version,
    changes_of,
    compare,
    config_or_text,
    find_yaml,
    get_version,
    list_versions,
    make_config,
    newest_config,
    newest_configs,
    refuse_secrets,
    require_open,
)
from app.ids import new_id, new_slug
from app.models import Config, Experiment, Project
from app.names import MAX_NAME, checked_name
from app.paging import Page, decode_id_cursor, page_of
from app.recipes import service as recipes
from app.secrets import service as secrets

__all__ = [
    "YAML",
    "Edit",
    "add_version",
    "archive",
    "change",
    "changes_of",
    "checked_tags",
    "compare",
    "create",
    "create_bare",
    "digest",
    "find_by_name",
    "find_or_create_by_name",
    "find_yaml",
    "fork",
    "get",
    "get_version",
    "list_forks",
    "list_page",
    "list_versions",
    "make_config",
    "newest_config",
    "newest_configs",
    "require_open",
    "restore",
]

MAX_TAGS = 50
MAX_TAG = 100
_MOST_FORKS = 20
_FORK = " (fork)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """What to change; None leaves it. `revision` is that of the experiment which was looked at."""

    name: str | None = None
    hypothesis: str | None = None
    tags: Sequence[str] | None = None
    revision: int | None = None


async def create(
    session: AsyncSession,
    *,
    name: str,
    recipe: str,
    config: Mapping[str, Any] | None,
    actor: Actor,
    project: Project,
    hypothesis: str = "",
    tags: Sequence[str] = (),
    yaml: str | None = None,
) -> Experiment:
    """Makes an experiment with version 1 of its config: the recipe's defaults under `config`.

    `yaml` as in `add_version`. Raises `NotFound` for an unknown recipe, `Invalid` with one problem
    per value.
    """
    # First of all: a message about a wrong value may quote it.
    await refuse_secrets(session, [project.id], config or {}, yaml)
    values = recipes.resolve(recipe, config_or_text(recipe, config, yaml))
    experiment = await create_bare(
        session, project=project, name=name, actor=actor, hypothesis=hypothesis, tags=tags
    )
    session.add(make_config(experiment, recipe, values, version=1, actor=actor, yaml=yaml))
    await session.flush()
    return experiment


async def create_bare(
    session: AsyncSession,
    *,
    name: str,
    actor: Actor,
    project: Project,
    hypothesis: str = "",
    tags: Sequence[str] = (),
) -> Experiment:
    """An experiment without a config, for runs that are fed from outside."""
    experiment = await _new(session, project, name, hypothesis=hypothesis, tags=tags, actor=actor)
    _record(session, actor, Action.EXPERIMENT_CREATE, experiment)
    return experiment


async def fork(
    session: AsyncSession,
    source: Experiment,
    *,
    project: Project,
    actor: Actor,
    version: int | None = None,
    name: str | None = None,
) -> Experiment:
    """A new experiment whose version 1 is a version of `source`, the newest unless told otherwise.

    Its config is the same to the byte, comments too, even where the recipe has changed since.
    Hypothesis and tags are copied. Raises `NotFound` for the version, `Invalid` for the name.
    """
    origin = await get_version(session, source, version)
    yaml = await find_yaml(session, origin)
    await refuse_secrets(session, [project.id], origin.values, yaml)
    experiment = await _new(
        session,
        project,
        name or source.name[: MAX_NAME - len(_FORK)] + _FORK,
        hypothesis=source.hypothesis,
        tags=source.tags,
        actor=actor,
    )
    experiment.forked_from, experiment.forked_version = source, origin.version
    session.add(_copy(origin, experiment, actor, yaml))
    details = {"from": source.slug, "version": origin.version}
    _record(session, actor, Action.EXPERIMENT_FORK, experiment, details=details)
    await session.flush()
    return experiment


async def get(session: AsyncSession, slug: str) -> Experiment:
    """Raises `NotFound`."""
    experiment = await repository.find_by_slug(session, slug)
    if experiment is None:
        raise NotFound(f"there is no experiment {slug}")
    return experiment


async def find_by_name(session: AsyncSession, project: Project, name: str) -> Experiment | None:
    """The newest experiment of that name in the project; archived ones do not count."""
    return await repository.find_by_name(session, project.id, checked_name(name))


async def find_or_create_by_name(
    session: AsyncSession, project: Project, name: str, *, actor: Actor
) -> Experiment:
    """The newest experiment of that name in the project, made if there is none."""
    found = await find_by_name(session, project, name)
    return found or await create_bare(session, project=project, name=name, actor=actor)


async def list_page(
    session: AsyncSession,
    *,
    projects: frozenset[UUID] | None,
    limit: int = 50,
    cursor: str | None = None,
    text: str = "",
    tag: str = "",
    is_archived: bool = False,
) -> Page[Experiment]:
    """Those in `projects` (None: in all), newest first, either open or archived ones.

    `text` narrows to those whose name, slug or hypothesis contains it, `tag` to those with it.
    """
    rows = await repository.list_before(
        session,
        projects=projects,
        before=decode_id_cursor(cursor) if cursor else None,
        limit=limit + 1,
        text=text.strip(),
        tag=tag,
        is_archived=is_archived,
    )
    return page_of(rows, limit, lambda row: [str(row.id)])


async def list_forks(
    session: AsyncSession, experiment: Experiment, *, projects: frozenset[UUID] | None
) -> Sequence[Experiment]:
    """The newest experiments in `projects` (None: in all) that began with a version of this one."""
    return await repository.list_forks(session, experiment.id, projects=projects, limit=_MOST_FORKS)


async def change(
    session: AsyncSession, experiment: Experiment, edit: Edit, *, actor: Actor
) -> Experiment:
    """Changes name, hypothesis or tags. Raises `Invalid`, and `Conflict` for a stale revision."""
    texts = {"name": edit.name, "hypothesis": edit.hypothesis, "tags": edit.tags}
    given = {field: text for field, text in texts.items() if text is not None}
    await secrets.refuse_values(session, [experiment.project_id], given)
    await repository.lock(session, experiment)
    if edit.revision not in (None, experiment.revision):
        raise Conflict(
            f"experiment {experiment.slug} was changed since you opened it: nothing was stored; "
            "look at it as it is now, then save again"
        )
    before = _fields(experiment)
    if edit.name is not None:
        experiment.name = checked_name(edit.name)
    if edit.hypothesis is not None:
        experiment.hypothesis = edit.hypothesis
    if edit.tags is not None:
        experiment.tags = checked_tags(edit.tags)
    return await _changed(session, experiment, before, Action.EXPERIMENT_CHANGE, actor)


async def archive(session: AsyncSession, experiment: Experiment, *, actor: Actor) -> Experiment:
    """Takes it off the lists: no new versions and runs. Runs that are under way go on."""
    await repository.lock(session, experiment)
    before = _fields(experiment)
    experiment.archived_at = experiment.archived_at or utcnow()
    return await _changed(session, experiment, before, Action.EXPERIMENT_ARCHIVE, actor)


async def restore(session: AsyncSession, experiment: Experiment, *, actor: Actor) -> Experiment:
    """Undoes `archive`."""
    await repository.lock(session, experiment)
    before = _fields(experiment)
    experiment.archived_at = None
    return await _changed(session, experiment, before, Action.EXPERIMENT_RESTORE, actor)


def checked_tags(tags: Sequence[str]) -> list[str]:
    """Tags without blanks and repeats, order kept. Raises `Invalid`."""
    cleaned = list(dict.fromkeys(tag.strip() for tag in tags if tag.strip()))
    if len(cleaned) > MAX_TAGS or any(len(t) > MAX_TAG or not t.isprintable() for t in cleaned):
        message = f"at most {MAX_TAGS} tags of at most {MAX_TAG} printable characters each"
        raise Invalid(message, [Problem("tags", "tags", message)])
    return cleaned


async def _new(
    session: AsyncSession,
    project: Project,
    name: str,
    *,
    hypothesis: str,
    tags: Sequence[str],
    actor: Actor,
) -> Experiment:
    texts = {"name": name, "hypothesis": hypothesis, "tags": tags}
    await secrets.refuse_values(session, [project.id], texts)
    experiment = Experiment(
        id=new_id(),
        slug=new_slug("exp"),
        project=project,
        project_id=project.id,
        name=checked_name(name),
        hypothesis=hypothesis,
        tags=checked_tags(tags),
        owner=actor.name,
        created_at=utcnow(),
        revision=1,
        forked_from=None,
    )
    session.add(experiment)
    await session.flush()
    return experiment


def _copy(origin: Config, experiment: Experiment, actor: Actor, yaml: str | None) -> Config:
    return Config(
        id=new_id(),
        experiment_id=experiment.id,
        version=1,
        recipe=origin.recipe,
        recipe_version=origin.recipe_version,
        digest=origin.digest,
        values=origin.values,
        created_by=actor.name,
        created_at=utcnow(),
        yaml=yaml,
    )


async def _changed(
    session: AsyncSession,
    experiment: Experiment,
    before: Mapping[str, Any],
    action: Action,
    actor: Actor,
) -> Experiment:
    if _fields(experiment) != before:
        experiment.revision += 1
        _record(session, actor, action, experiment, before=before)
        await session.flush()
    return experiment


def _record(
    session: AsyncSession,
    actor: Actor,
    action: Action,
    experiment: Experiment,
    *,
    before: Mapping[str, Any] | None = None,
    details: Mapping[str, Any] | None = None,
) -> None:
    target = Target("experiment", experiment.slug, experiment.project_id)
    after = _fields(experiment)
    audit.record(session, actor, action, target, before=before, after=after, details=details)


def _fields(experiment: Experiment) -> dict[str, Any]:
    """What the audit log keeps the digest of; configs are frozen and have one of their own."""
    names = ("name", "hypothesis", "tags", "owner", "archived_at")
    return {name: getattr(experiment, name) for name in names}
