"""Tables of runs that people named for themselves."""

from collections.abc import Sequence
from urllib.parse import parse_qsl, urlencode

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app.clock import utcnow
from app.errors import Invalid, NotFound, Problem
from app.ids import new_slug
from app.models import SavedView, User
from app.names import checked_name

MAX_VIEWS = 50
_MAX_QUERY = 8_000
_KEPT = ("project", "q", "status", "sweep", "filter", "sort", "column", "group")


async def list_of(session: AsyncSession, user: User) -> Sequence[SavedView]:
    """A person's own views, by name."""
    query = select(SavedView).where(SavedView.user_id == user.id).order_by(SavedView.name)
    return (await session.scalars(query)).all()


async def save(session: AsyncSession, user: User, name: str, query: str) -> SavedView:
    """Keeps the query string of a table under a name; the same name is set anew.

    Raises `Invalid` for names, and beyond `MAX_VIEWS`.
    """
    name, kept = checked_name(name), _kept(query)
    views = {view.name: view for view in await list_of(session, user)}
    if view := views.get(name):
        view.query = kept
        return view
    if len(views) >= MAX_VIEWS:
        message = f"you have {MAX_VIEWS} views, the most there can be: delete one first"
        raise Invalid(message, [Problem("name", "too_many", message)])
    view = SavedView(
        slug=new_slug("view"), user_id=user.id, name=name, query=kept, created_at=utcnow()
    )
    session.add(view)
    await session.flush()
    return view


async def delete(session: AsyncSession, user: User, slug: str) -> None:
    """Raises `NotFound` for a view that is not one's own."""
    query = select(SavedView).where(SavedView.slug == slug, SavedView.user_id == user.id)
    view = await session.scalar(query)
    if view is None:
        raise NotFound(f"there is no view {slug}")
    await session.delete(view)


def url_of(query: str) -> str:
    """The table that a query string asks for."""
    kept = _kept(query)
    return f"/runs?{kept}" if kept else "/runs"


def _kept(query: str) -> str:
    """Only what the table reads, so that an address says nothing else."""
    pairs = parse_qsl(query.removeprefix("?")[:_MAX_QUERY])
    return urlencode([(name, value) for name, value in pairs if name in _KEPT])
