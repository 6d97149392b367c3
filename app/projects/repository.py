"""Queries on projects and their members."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from app.models import Project, ProjectMember, Role, Run, User


async def find(session: AsyncSession, slug: str) -> Project | None:
    return await session.scalar(select(Project).where(Project.slug == slug))


async def list_before(
    session: AsyncSession, *, projects: frozenset[UUID] | None, before: UUID | None, limit: int
) -> Sequence[Project]:
    """Newest first; `before` is the id of the last one already shown."""
    query = select(Project).order_by(Project.id.desc()).limit(limit)
    if projects is not None:
        query = query.where(Project.id.in_(projects))
    if before is not None:
        query = query.where(Project.id < before)
    return (await session.scalars(query)).all()


async def count_members(session: AsyncSession, project_ids: Sequence[UUID]) -> dict[UUID, int]:
    query = (
        select(ProjectMember.project_id, func.count(ProjectMember.user_id))
        .where(ProjectMember.project_id.in_(project_ids))
        .group_by(ProjectMember.project_id)
    )
    return {row[0]: row[1] for row in await session.execute(query)}


async def count_runs(session: AsyncSession, project_ids: Sequence[UUID]) -> dict[UUID, int]:
    query = (
        select(Run.project_id, func.count(Run.id))
        .where(Run.project_id.in_(project_ids), Run.deleted_at.is_(None))
        .group_by(Run.project_id)
    )
    return {row[0]: row[1] for row in await session.execute(query)}


async def list_members(
    session: AsyncSession, project_id: UUID
) -> Sequence[tuple[ProjectMember, User]]:
    """By name of the person."""
    query = (
        select(ProjectMember, User)
        .join(User, User.id == ProjectMember.user_id)
        .where(ProjectMember.project_id == project_id)
        .order_by(func.lower(User.name))
    )
    return [(row[0], row[1]) for row in await session.execute(query)]


async def find_person(session: AsyncSession, name: str) -> User | None:
    return await session.scalar(select(User).where(User.name == name))


async def find_member(
    session: AsyncSession, project_id: UUID, user_id: UUID
) -> ProjectMember | None:
    return await session.get(ProjectMember, (project_id, user_id))


async def has_other_administrator(session: AsyncSession, project_id: UUID, user_id: UUID) -> bool:
    """Whether somebody else who can sign in administers the project."""
    query = (
        select(ProjectMember.user_id)
        .join(User, User.id == ProjectMember.user_id)
        .where(
            ProjectMember.project_id == project_id,
            ProjectMember.role == Role.ADMINISTRATOR,
            ProjectMember.user_id != user_id,
            User.disabled_at.is_(None),
        )
        .limit(1)
    )
    return await session.scalar(query) is not None


async def lock(session: AsyncSession, project: Project) -> None:
    """Holds the project until the transaction ends, so that its members change one by one."""
    await session.refresh(project, with_for_update=True)
