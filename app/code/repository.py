"""Queries on uploaded code."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import Text, cast, delete, exists, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.models import CodeChunk, CodeUpload, Config, Experiment
from app.recipes.sources import UPLOAD


async def find(session: AsyncSession, slug: str) -> CodeUpload | None:
    query = select(CodeUpload).where(CodeUpload.slug == slug, CodeUpload.completed_at.is_not(None))
    return await session.scalar(query)


async def find_by_digest(
    session: AsyncSession, project_id: UUID, sha256: str, *, is_locked: bool = False
) -> CodeUpload | None:
    """Locked until the transaction ends, if asked, so that it is not cleaned away meanwhile."""
    query = select(CodeUpload).where(
        CodeUpload.project_id == project_id,
        CodeUpload.sha256 == sha256,
        CodeUpload.completed_at.is_not(None),
    )
    return await session.scalar(query.with_for_update() if is_locked else query)


async def list_before(
    session: AsyncSession, project_ids: Sequence[UUID] | None, *, before: UUID | None, limit: int
) -> Sequence[CodeUpload]:
    """Newest first; `project_ids` None: of all projects."""
    query = select(CodeUpload).where(CodeUpload.completed_at.is_not(None))
    if project_ids is not None:
        query = query.where(CodeUpload.project_id.in_(project_ids))
    if before is not None:
        query = query.where(CodeUpload.id < before)
    return (await session.scalars(query.order_by(CodeUpload.id.desc()).limit(limit))).all()


async def unused_bytes(session: AsyncSession, project_id: UUID) -> int:
    """What a project keeps that no config names, unfinished uploads included."""
    query = select(func.coalesce(func.sum(CodeUpload.size_bytes), 0)).where(
        CodeUpload.project_id == project_id, CodeUpload.used_at.is_(None)
    )
    return int(await session.scalar(query) or 0)


async def list_unused(
    session: AsyncSession, *, before: datetime, limit: int
) -> Sequence[CodeUpload]:
    """Complete ones that were last uploaded before, with no config known to name them."""
    query = (
        select(CodeUpload)
        .where(
            CodeUpload.completed_at.is_not(None),
            CodeUpload.used_at.is_(None),
            CodeUpload.uploaded_at < before,
        )
        .order_by(CodeUpload.uploaded_at)
        .limit(limit)
        .with_for_update()
    )
    return (await session.scalars(query)).all()


async def list_unfinished(
    session: AsyncSession, *, before: datetime, limit: int
) -> Sequence[CodeUpload]:
    query = select(CodeUpload).where(
        CodeUpload.completed_at.is_(None), CodeUpload.created_at < before
    )
    return (await session.scalars(query.limit(limit).with_for_update())).all()


async def is_named(session: AsyncSession, upload: CodeUpload) -> bool:
    """Whether a config of its project names it, with or without a run."""
    query = select(
        exists().where(
            Config.experiment_id == Experiment.id,
            Experiment.project_id == upload.project_id,
            cast(Config.values, Text).contains(f"{UPLOAD}{upload.sha256}"),
        )
    )
    return bool(await session.scalar(query))


async def remove(session: AsyncSession, upload: CodeUpload) -> None:
    await session.execute(delete(CodeChunk).where(CodeChunk.upload_id == upload.id))
    await session.execute(delete(CodeUpload).where(CodeUpload.id == upload.id))
