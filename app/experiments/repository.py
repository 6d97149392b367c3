"""Queries on experiments and configs. Experiments come with their project, and their origin."""

import json
from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import Select, String, cast, func, or_, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import joinedload

from app.models import Config, Experiment

_SEARCHED = (Experiment.name, Experiment.slug, Experiment.hypothesis)


async def find_by_slug(session: AsyncSession, slug: str) -> Experiment | None:
    return await session.scalar(_placed().where(Experiment.slug == slug))


async def find_by_name(session: AsyncSession, project_id: UUID, name: str) -> Experiment | None:
    """The newest experiment of that name that is not archived; names may repeat."""
    query = (
        _placed()
        .where(
            Experiment.project_id == project_id,
            Experiment.name == name,
            Experiment.archived_at.is_(None),
        )
        .order_by(Experiment.id.desc())
        .limit(1)
    )
    return await session.scalar(query)


async def list_before(
    session: AsyncSession,
    *,
    projects: frozenset[UUID] | None,
    before: UUID | None,
    limit: int,
    text: str = "",
    tag: str = "",
    is_archived: bool = False,
) -> Sequence[Experiment]:
    """Newest first; `before` is the id of the last one already shown.

    `text` is searched for in name, slug and hypothesis; `tag` is one of the tags, exactly.
    """
    archived = Experiment.archived_at
    query = _placed().order_by(Experiment.id.desc()).limit(limit)
    query = query.where(archived.is_not(None) if is_archived else archived.is_(None))
    if projects is not None:
        query = query.where(Experiment.project_id.in_(projects))
    if before is not None:
        query = query.where(Experiment.id < before)
    if text:
        query = query.where(or_(*(c.icontains(text, autoescape=True) for c in _SEARCHED)))
    if tag:
        stored = cast(Experiment.tags, String)
        query = query.where(stored.contains(json.dumps(tag), autoescape=True))
    return (await session.scalars(query)).all()


async def list_forks(
    session: AsyncSession, experiment_id: UUID, *, projects: frozenset[UUID] | None, limit: int
) -> Sequence[Experiment]:
    """Experiments that began with a version of this one, newest first."""
    query = _placed().where(Experiment.forked_from_id == experiment_id)
    if projects is not None:
        query = query.where(Experiment.project_id.in_(projects))
    return (await session.scalars(query.order_by(Experiment.id.desc()).limit(limit))).all()


async def newest_configs(
    session: AsyncSession, experiment_ids: Sequence[UUID]
) -> dict[UUID, Config]:
    """The highest config version of each experiment."""
    newest = (
        select(Config.experiment_id, func.max(Config.version).label("version"))
        .where(Config.experiment_id.in_(experiment_ids))
        .group_by(Config.experiment_id)
        .subquery()
    )
    query = select(Config).join(
        newest,
        (Config.experiment_id == newest.c.experiment_id) & (Config.version == newest.c.version),
    )
    return {config.experiment_id: config for config in await session.scalars(query)}


async def find_versions(
    session: AsyncSession, experiment_id: UUID, versions: Sequence[int]
) -> dict[int, Config]:
    """Those of the versions that there are, by number."""
    query = select(Config).where(
        Config.experiment_id == experiment_id, Config.version.in_(versions)
    )
    return {config.version: config for config in await session.scalars(query) if config.version}


async def find_yaml(session: AsyncSession, config_id: UUID) -> str | None:
    """The text that a config was typed as, if it was."""
    return await session.scalar(select(Config.yaml).where(Config.id == config_id))


async def list_versions(
    session: AsyncSession, experiment_id: UUID, *, before: int, limit: int
) -> Sequence[Config]:
    """Versions below `before`, the highest first."""
    query = (
        select(Config)
        .where(Config.experiment_id == experiment_id, Config.version < before)
        .order_by(Config.version.desc())
        .limit(limit)
    )
    return (await session.scalars(query)).all()


async def lock(session: AsyncSession, experiment: Experiment) -> None:
    """Holds the experiment until the transaction ends, and reads again what may have changed."""
    await session.flush()
    names = ["name", "hypothesis", "tags", "archived_at", "revision"]
    await session.refresh(experiment, names, with_for_update=True)


def _placed() -> Select[Experiment]:
    return select(Experiment).options(
        joinedload(Experiment.project, innerjoin=True), joinedload(Experiment.forked_from)
    )
