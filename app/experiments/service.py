"""Experiments: named questions, their config versions."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy.exc import IntegrityError
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
from app.paging import Page, decode_id_cursor, page_of
from app.recipes import service as recipes

DEFAULT_PROJECT = "default"
MAX_NAME = 200
MAX_TAGS = 50
MAX_TAG = 100


async def create(
    session: AsyncSession,
    *,
    name: str,
    recipe: str,
    config: Mapping[str, Any],
    actor: Actor,
    project: str | None = None,
    hypothesis: str = "",
    tags: Sequence[str] = (),
) -> Experiment:
    """Makes an experiment with version 1 of its config: the recipe's defaults under `config`.

    Raises `NotFound` for an unknown recipe or project, `Invalid` with one problem per value.
    """
    values = recipes.resolve(recipe, config)
    experiment = await create_bare(
        session, name=name, actor=actor, project=project, hypothesis=hypothesis, tags=tags
    )
    session.add(make_config(experiment, recipe, values, version=1))
    await session.flush()
    return experiment


async def create_bare(
    session: AsyncSession,
    *,
    name: str,
    actor: Actor,
    project: str | None = None,
    hypothesis: str = "",
    tags: Sequence[str] = (),
) -> Experiment:
    """An experiment without a config, for runs that are fed from outside."""
    home = await get_project(session, project or DEFAULT_PROJECT)
    experiment = Experiment(
        id=new_id(),
        slug=new_slug("exp"),
        project_id=home.id,
        name=checked_name(name),
        hypothesis=hypothesis,
        tags=checked_tags(tags),
        owner=actor.name,
        created_at=utcnow(),
    )
    session.add(experiment)
    await session.flush()
    target = Target("experiment", experiment.slug, home.id)
    audit.record(session, actor, Action.EXPERIMENT_CREATE, target, after=_fields(experiment))
    return experiment


async def get(session: AsyncSession, slug: str) -> Experiment:
    """Raises `NotFound`."""
    experiment = await repository.find_by_slug(session, slug)
    if experiment is None:
        raise NotFound(f"there is no experiment {slug}")
    return experiment


async def find_by_name(session: AsyncSession, name: str) -> Experiment | None:
    """The newest experiment of that name in the default project."""
    home = await get_project(session, DEFAULT_PROJECT)
    return await repository.find_by_name(session, home.id, checked_name(name))


async def find_or_create_by_name(session: AsyncSession, name: str, *, actor: Actor) -> Experiment:
    """The newest experiment of that name in the default project, made if there is none."""
    home = await get_project(session, DEFAULT_PROJECT)
    found = await repository.find_by_name(session, home.id, checked_name(name))
    return found or await create_bare(session, name=name, actor=actor)


async def list_page(
    session: AsyncSession, *, limit: int = 50, cursor: str | None = None
) -> Page[Experiment]:
    """Newest first."""
    before = decode_id_cursor(cursor) if cursor else None
    rows = await repository.list_before(session, before=before, limit=limit + 1)
    return page_of(rows, limit, lambda row: [str(row.id)])


async def newest_config(session: AsyncSession, experiment: Experiment) -> Config | None:
    """The highest config version; None for an experiment of external runs only."""
    return (await repository.newest_configs(session, [experiment.id])).get(experiment.id)


async def newest_configs(
    session: AsyncSession, experiments: Sequence[Experiment]
) -> dict[UUID, Config]:
    """The highest config version by experiment id, in one query."""
    return await repository.newest_configs(session, [row.id for row in experiments])


async def get_project(session: AsyncSession, slug: str) -> Project:
    """The project; the default one is made on first use. Raises `NotFound` for others."""
    found = await repository.find_project(session, slug)
    if found is not None:
        return found
    if slug != DEFAULT_PROJECT:
        raise NotFound(f"there is no project {slug}")
    project = Project(slug=slug, name="Default", created_at=utcnow())
    try:
        async with session.begin_nested():
            session.add(project)
    except IntegrityError:
        # Another process made it between our look and our insert.
        project = await get_project(session, slug)
    return project


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


def checked_name(name: str) -> str:
    """The name without outer blanks. Raises `Invalid` if it is empty, too long or not text."""
    cleaned = name.strip()
    if not cleaned or len(cleaned) > MAX_NAME or not cleaned.isprintable():
        message = f"a name has 1 to {MAX_NAME} printable characters on one line"
        raise Invalid(message, [Problem("name", "name", message)])
    return cleaned


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
