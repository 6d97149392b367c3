"""Queries of API tokens."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import bindparam, delete, exists, or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from app.models import ApiToken, Attempt, Project, User


@dataclass(frozen=True, slots=True)
class TokenEntry:
    """A token with its user's name and its project's slug, where it has them."""

    token: ApiToken
    user_name: str | None
    project: str | None


_attempt = select(Attempt.id).where(
    Attempt.run_id == ApiToken.run_id, Attempt.number == ApiToken.attempt_number
)
_under_way = exists(_attempt.where(Attempt.ended_at.is_(None)).correlate(ApiToken))
# Made once: each request by a token asks it, and making it takes longer than asking.
_VALID = (
    select(ApiToken, User)
    .outerjoin(User, ApiToken.user_id == User.id)
    .where(
        ApiToken.secret_hash == bindparam("secret_hash"),
        ApiToken.revoked_at.is_(None),
        or_(ApiToken.expires_at.is_(None), ApiToken.expires_at > bindparam("now")),
        User.disabled_at.is_(None),
        or_(ApiToken.run_id.is_(None), _under_way),
    )
)


async def find_valid_token(
    session: AsyncSession, secret_hash: str, now: datetime
) -> tuple[ApiToken, User | None] | None:
    """The token and its owner, unless it is revoked, out of time, or its owner is disabled.

    One of an attempt ends with it.
    """
    row = (await session.execute(_VALID, {"secret_hash": secret_hash, "now": now})).first()
    return None if row is None else (row[0], row[1])


async def touch_token(
    session: AsyncSession, token: ApiToken, *, now: datetime, unless_since: datetime
) -> None:
    """Notes the use of a token, unless that was done after `unless_since`."""
    await session.execute(
        update(ApiToken)
        .where(
            ApiToken.id == token.id,
            or_(ApiToken.last_used_at.is_(None), ApiToken.last_used_at <= unless_since),
        )
        .values(last_used_at=now)
        .execution_options(synchronize_session=False)
    )


async def find_token_named(session: AsyncSession, slug: str) -> ApiToken | None:
    found: ApiToken | None = await session.scalar(
        select(ApiToken).where(ApiToken.slug == slug, ApiToken.revoked_at.is_(None))
    )
    return found


async def list_tokens(
    session: AsyncSession,
    *,
    user_id: UUID | None = None,
    slug: str | None = None,
) -> Sequence[TokenEntry]:
    """Tokens that are not revoked, newest first; of one user or slug where given."""
    query = (
        select(ApiToken, User.name, Project.slug)
        .outerjoin(User, ApiToken.user_id == User.id)
        .outerjoin(Project, ApiToken.project_id == Project.id)
        .where(ApiToken.revoked_at.is_(None))
        .order_by(ApiToken.id.desc())
    )
    if user_id is not None:
        query = query.where(ApiToken.user_id == user_id)
    if slug is not None:
        query = query.where(ApiToken.slug == slug)
    return [TokenEntry(*row) for row in await session.execute(query)]


async def hashes_of_attempt(session: AsyncSession, run_id: UUID, number: int) -> set[str]:
    """Hashes of the tokens of an attempt that are not revoked."""
    query = select(ApiToken.secret_hash).where(
        ApiToken.run_id == run_id,
        ApiToken.attempt_number == number,
        ApiToken.revoked_at.is_(None),
    )
    return set(await session.scalars(query))


async def delete_tokens_of_run(session: AsyncSession, run_id: UUID) -> None:
    await session.execute(
        delete(ApiToken)
        .where(ApiToken.run_id == run_id)
        .execution_options(synchronize_session=False)
    )


async def revoke_tokens(session: AsyncSession, user: User, now: datetime) -> None:
    await session.execute(
        update(ApiToken)
        .where(ApiToken.user_id == user.id, ApiToken.revoked_at.is_(None))
        .values(revoked_at=now)
        .execution_options(synchronize_session=False)
    )
