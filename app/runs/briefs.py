"""Many runs in short: what reading their series wants of each, and where their metrics stand."""

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

from sqlalchemy.ext.asyncio import AsyncSession

from app.errors import NotFound
from app.runs import repository
from app.runs.repository import Revisions, RunBrief


class _HasSlug(Protocol):
    @property
    def slug(self) -> str: ...


R = TypeVar("R", bound=_HasSlug)


async def get_briefs(session: AsyncSession, slugs: Sequence[str]) -> list[RunBrief]:
    """The runs in the order of their slugs, in one query. Raises `NotFound`."""
    return in_order(await repository.list_briefs(session, slugs), slugs)


async def list_revisions(session: AsyncSession, slugs: Sequence[str]) -> list[Revisions]:
    """Where the metrics of those of the runs stand that there are, by project, in one query."""
    return await repository.list_revisions(session, slugs)


def in_order(runs: Iterable[R], slugs: Sequence[str]) -> list[R]:
    """The runs in the order of their slugs. Raises `NotFound`, naming the first that is missing."""
    found = {run.slug: run for run in runs}
    for slug in slugs:
        if slug not in found:
            raise NotFound(f"there is no run {slug}")
    return [found[slug] for slug in slugs]
