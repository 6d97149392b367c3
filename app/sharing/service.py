"""Links by which anybody may read one run or episode, and nothing else, until they end.

A secret is 256 random bits and is kept as its SHA-256 only. It is looked up by that hash, so how
long the answer takes says nothing about how much of a guess was right.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from app.access import uses
from app.access.principal import Actor
from app.audit import service as audit
from app.audit.actions import Action
from app.audit.service import Target
from app.clock import utcnow
from app.errors import Conflict, Invalid, NotFound, Problem
from app.ids import hashed, new_secret, new_slug
from app.models import Run, ShareLink
from app.sharing import repository
from app.sharing.repository import Shareable

LIFETIMES = (1, 7, 30, 90)
"""Days for which a link may be made."""
DEFAULT_DAYS = 7
MAX_OPEN_LINKS = 50


async def create(
    session: AsyncSession,
    shown: Shareable,
    *,
    actor: Actor,
    days: int = DEFAULT_DAYS,
    now: datetime | None = None,
) -> tuple[ShareLink, str]:
    """Makes a link; its secret is returned here and never again.

    Raises `Invalid` for a lifetime that is none of `LIFETIMES`, `Conflict` for a deleted run and
    beyond `MAX_OPEN_LINKS`.
    """
    at, secret = now or utcnow(), new_secret()
    if days not in LIFETIMES:
        message = f"a link lives {', '.join(map(str, LIFETIMES))} days"
        raise Invalid(message, [Problem("days", "choices", message)])
    if isinstance(shown, Run) and shown.deleted_at is not None:
        raise Conflict(f"run {shown.slug} is deleted: restore it before sharing it")
    if len(await repository.list_open(session, shown, at)) >= MAX_OPEN_LINKS:
        raise Conflict(
            f"{_kind(shown)} {shown.slug} has {MAX_OPEN_LINKS} links already: revoke one of them"
        )
    link = ShareLink(
        slug=new_slug("share"),
        secret_hash=hashed(secret),
        run_id=shown.id if isinstance(shown, Run) else None,
        episode_id=None if isinstance(shown, Run) else shown.id,
        created_by=actor.name,
        created_at=at,
        expires_at=at + timedelta(days=days),
    )
    session.add(link)
    _record(session, actor, Action.SHARE_CREATE, shown, link)
    await session.flush()
    return link, secret


async def list_open(
    session: AsyncSession, shown: Shareable, now: datetime | None = None
) -> Sequence[ShareLink]:
    """The links of a run or an episode that still work, newest first."""
    return await repository.list_open(session, shown, now or utcnow())


async def revoke(
    session: AsyncSession, shown: Shareable, slug: str, *, actor: Actor, now: datetime | None = None
) -> None:
    """Ends a link at once; one that has ended stays as it is. Raises `NotFound`."""
    link = await repository.find_named(session, shown, slug)
    if link is None:
        raise NotFound(f"{_kind(shown)} {shown.slug} has no link {slug}")
    if link.revoked_at is None:
        _end(session, shown, link, actor, now or utcnow())


async def revoke_all(
    session: AsyncSession, shown: Shareable, *, actor: Actor, now: datetime | None = None
) -> None:
    """Ends all links of a run, for good: restoring the run brings none of them back."""
    at = now or utcnow()
    for link in await repository.list_open(session, shown, at):
        _end(session, shown, link, actor, at)


async def revoke_all_of(session: AsyncSession, runs: Sequence[Run], *, actor: Actor) -> None:
    """As `revoke_all`, for many runs in one query."""
    at = utcnow()
    by_id = {run.id: run for run in runs}
    for link in await repository.list_open_of_runs(session, list(by_id), at):
        if link.run_id is not None:
            _end(session, by_id[link.run_id], link, actor, at)


async def find_shared(
    session: AsyncSession, secret: str, now: datetime | None = None
) -> tuple[ShareLink, Run] | None:
    """The link of a secret and its run, without the run's relations.

    None alike for a secret that is unknown, out of time or revoked, and for a deleted run.
    """
    return await repository.find_open(session, hashed(secret), now or utcnow())


async def find_shared_episode(
    session: AsyncSession, secret: str, now: datetime | None = None
) -> tuple[ShareLink, str] | None:
    """The link of a secret and its episode's slug; None as `find_shared`."""
    return await repository.find_open_of_episode(session, hashed(secret), now or utcnow())


async def note_use(session: AsyncSession, link: ShareLink, now: datetime) -> None:
    """Whoever asks looks first whether that is due, by `app.access.uses`."""
    await repository.note_use(session, link.id, now=now, unless_since=uses.noted_before(now))


def _end(
    session: AsyncSession, shown: Shareable, link: ShareLink, actor: Actor, now: datetime
) -> None:
    before, link.revoked_at = _fields(link), now
    _record(session, actor, Action.SHARE_REVOKE, shown, link, before)


def _record(
    session: AsyncSession,
    actor: Actor,
    action: Action,
    shown: Shareable,
    link: ShareLink,
    before: dict[str, object] | None = None,
) -> None:
    audit.record(
        session,
        actor,
        action,
        Target("share", link.slug, shown.project_id),
        before=before,
        after=_fields(link),
        details={_kind(shown): shown.slug},
    )


def _kind(shown: Shareable) -> str:
    return "run" if isinstance(shown, Run) else "episode"


def _fields(link: ShareLink) -> dict[str, object]:
    names = ("run_id", "episode_id", "created_by", "expires_at", "revoked_at")
    return {name: getattr(link, name) for name in names}
