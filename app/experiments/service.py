"""Experiments: named questions, their config versions."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app.access.principal import Actor
from app.audit import service as audit
from app.audit.actions import Action
from app.audit.service import Target
from app.clock import utcnow
from app.errors import Invalid, NotFound, Problem
from app.experiments import repository
from app.ids import new_id, new_slug
from app.models import Config, Experiment, Project
from app.names import checked_name
from app.paging import Page, decode_id_cursor, page_of
from app.recipes import service as recipes
from app.secrets import service as secrets

MAX_TAGS = 50
MAX_TAG = 100


async def create(
    session: AsyncSession,
    *,
    name: str,
    recipe: str,
    config: Mapping[str, Any],
    actor: Actor,
    project: Project,
    hypothesis: str = "",
    tags: Sequence[str] = (),
) -> Experiment:
    """Makes an experiment with version 1 of its config: the recipe's defaults under `config`.

    Raises `NotFound` for an unknown recipe, `Invalid` with one problem per value.
    """
    # First of all: a message about a wrong value may quote it.
    await secrets.refuse_values(session, [project.id], config)
    values = recipes.resolve(recipe, config)
    experiment = await create_bare(
        session, project=project, name=name, actor=actor, hypothesis=hypothesis, tags=tags
    )
    session.add(make_config(experiment, recipe, values, version=1))
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
    )
    session.add(experiment)
    await session.flush()
    target = Target("experiment", experiment.slug, project.id)
    audit.record(session, actor, Action.EXPERIMENT_CREATE, target, after=_fields(experiment))
    return experiment


async def get(session: AsyncSession, slug: str) -> Experiment:
    """Raises `NotFound`."""
    experiment = await repository.find_by_slug(session, slug)
    if experiment is None:
        raise NotFound(f"there is no experiment {slug}")
    return experiment


async def find_by_name(session: AsyncSession, project: Project, name: str) -> Experiment | None:
    """The newest experiment of that name in the project."""
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
) -> Page[Experiment]:
    """Those in `projects` (None: in all), newest first."""
    before = decode_id_cursor(cursor) if cursor else None
    rows = await repository.list_before(session, projects=projects, before=before, limit=limit + 1)
    return page_of(rows, limit, lambda row: [str(row.id)])


async def newest_config(session: AsyncSession, experiment: Experiment) -> Config | None:
    """The highest config version; None for an experiment of external runs only."""
    return (await repository.newest_configs(session, [experiment.id])).get(experiment.id)


async def newest_configs(
    session: AsyncSession, experiments: Sequence[Experiment]
) -> dict[UUID, Config]:
    """The highest config version by experiment id, in one query."""
    return await repository.newest_configs(session, [row.id for row in experiments])


def make_config(
    experiment: Experiment, recipe: str, values: Mapping[str, Any], *, version: int | None
) -> Config:
    """A frozen config; `values` are complete and validated."""
    recipe_version = recipes.version_of(recipe)
    return Config(
        id=new_id(),
        experiment_id=experiment.id,
        version=version,
        recipe=recipe,
        recipe_version=recipe_version,
        digest=digest(recipe, recipe_version, values),
        values=dict(values),
        created_at=utcnow(),
    )


def digest(recipe: str, recipe_version: int, values: Mapping[str, Any]) -> str:
    """SHA-256 (hex) over recipe, its version and the values in sorted order."""
    text = json.dumps([recipe, recipe_version, values], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def checked_tags(tags: Sequence[str]) -> list[str]:
    """Tags without blanks and repeats, order kept. Raises `Invalid`."""
    cleaned = list(dict.fromkeys(tag.strip() for tag in tags if tag.strip()))
    if len(cleaned) > MAX_TAGS or any(len(t) > MAX_TAG or not t.isprintable() for t in cleaned):
        message = f"at most {MAX_TAGS} tags of at most {MAX_TAG} printable characters each"
        raise Invalid(message, [Problem("tags", "tags", message)])
    return cleaned


def _fields(experiment: Experiment) -> dict[str, Any]:
    """What the audit log keeps the digest of; configs are frozen and have one of their own."""
    return {name: getattr(experiment, name) for name in ("name", "hypothesis", "tags", "owner")}
