"""Queries on secrets, and on who uses them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, cast
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    CursorResult,
    Select,
    and_,
    delete,
    exists,
    func,
    or_,
    select,
    update,
)
from sqlalchemy.ext.asyncio import AsyncSession

from app.models import Attempt, ConfigKey, ConfigValue, LogStream, Project, Run, Secret
from app.runs.states import ATTEMPT_ENDED
from app.secrets.vault import RETIRED


async def find(session: AsyncSession, project_id: UUID | None, name: str) -> Secret | None:
    """`project_id` None: a secret of the site. Locked until the transaction ends."""
    query = select(Secret).where(_in(project_id), Secret.name == name)
    return await session.scalar(query.with_for_update())


async def list_current(session: AsyncSession, project_id: UUID | None) -> Sequence[Secret]:
    """By name, without those that are only kept for masking."""
    query = select(Secret).where(_in(project_id), Secret.name.not_like(f"%{RETIRED}%"))
    return (await session.scalars(query.order_by(Secret.name))).all()


async def list_named(
    session: AsyncSession, project_id: UUID | None, names: Sequence[str]
) -> Sequence[Secret]:
    query = select(Secret).where(_in(project_id), Secret.name.in_(names))
    return (await session.scalars(query.order_by(Secret.name))).all()


async def list_known(session: AsyncSession, project_ids: Sequence[UUID] | None) -> Sequence[Secret]:
    """All secrets of these projects (None: of all) and of the site, those kept for masking too."""
    query = select(Secret).order_by(Secret.id)
    if project_ids is not None:
        query = query.where(or_(Secret.project_id.is_(None), Secret.project_id.in_(project_ids)))
    return (await session.scalars(query)).all()


async def list_retired(
    session: AsyncSession, project_id: UUID | None, head: str
) -> Sequence[Secret]:
    """Those kept for masking whose names begin so."""
    query = select(Secret).where(_in(project_id), Secret.name.startswith(head, autoescape=True))
    return (await session.scalars(query)).all()


async def list_lost(
    session: AsyncSession, known: Sequence[str], *, limit: int
) -> list[tuple[str, str | None]]:
    """(name, project's slug; None: the site's) of secrets under none of the keys of these ids."""
    query = (
        select(Secret.name, Project.slug)
        .outerjoin(Project, Project.id == Secret.project_id)
        .where(Secret.key_id.not_in(known))
        .order_by(Secret.name, Secret.id)
        .limit(limit)
    )
    return [(row[0], row[1]) for row in await session.execute(query)]


async def references(session: AsyncSession, project_id: UUID, key: str) -> list[tuple[str, int]]:
    """The different texts of a config key in a project, each with its number of configs."""
    query = (
        select(ConfigValue.text, func.count(Run.config_id.distinct()))
        .join(Run, Run.id == ConfigValue.run_id)
        .join(ConfigKey, ConfigKey.id == ConfigValue.key_id)
        .where(Run.project_id == project_id, ConfigKey.name == key, ConfigValue.text != "")
        .group_by(ConfigValue.text)
    )
    return [(row[0], row[1]) for row in await session.execute(query)]


async def may_still_be_printed(session: AsyncSession, project_id: UUID | None) -> bool:
    """Whether a job may still print a value of this project, or of the site."""
    place = Run.project_id == project_id if project_id is not None else Run.id.is_not(None)
    return await session.scalar(_printing().where(place).limit(1)) is not None


async def forget_retired(session: AsyncSession) -> None:
    """Deletes those only kept for masking, once all jobs ended that started before they changed."""
    is_its_project = or_(Secret.project_id.is_(None), Run.project_id == Secret.project_id)
    printing = _printing().where(is_its_project, Attempt.created_at <= Secret.changed_at)
    query = delete(Secret).where(Secret.name.contains(RETIRED), ~printing.exists())
    await session.execute(query.execution_options(synchronize_session=False))


def _printing() -> Select[UUID]:
    """Attempts whose jobs, or whose logs, still go on."""
    has_log = exists().where(
        and_(LogStream.attempt_id == Attempt.id, LogStream.is_complete.is_(False))
    )
    goes_on = or_(Attempt.status.not_in(ATTEMPT_ENDED), has_log)
    return select(Attempt.id).join(Run, Run.id == Attempt.run_id).where(goes_on)


async def remove(session: AsyncSession, row: Secret) -> None:
    await session.execute(delete(Secret).where(Secret.id == row.id))


async def note_use(session: AsyncSession, ids: Sequence[UUID], at: datetime) -> None:
    await session.execute(update(Secret).where(Secret.id.in_(ids)).values(last_used_at=at))


async def count_by_key(session: AsyncSession) -> dict[str, int]:
    """Numbers of secrets by the id of the key that they are encrypted with."""
    query = select(Secret.key_id, func.count()).group_by(Secret.key_id)
    return {row[0]: row[1] for row in await session.execute(query)}


async def list_under_other_keys(
    session: AsyncSession, key_id: str, *, after: UUID | None, limit: int
) -> Sequence[Secret]:
    """By id, those that are encrypted with any key but this one."""
    query = select(Secret).where(Secret.key_id != key_id).order_by(Secret.id).limit(limit)
    if after is not None:
        query = query.where(Secret.id > after)
    return (await session.scalars(query)).all()


async def replace_text(session: AsyncSession, row: Secret, *, ciphertext: str, key_id: str) -> bool:
    """False if somebody set the secret in between; nothing is changed then."""
    change = (
        update(Secret)
        .where(Secret.id == row.id, Secret.ciphertext == row.ciphertext)
        .values(ciphertext=ciphertext, key_id=key_id)
    )
    found = await session.execute(change, execution_options={"synchronize_session": False})
    return cast(CursorResult[Any], found).rowcount == 1


def _in(project_id: UUID | None) -> ColumnElement[bool]:
    return Secret.project_id.is_(None) if project_id is None else Secret.project_id == project_id
