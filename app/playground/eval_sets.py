"""The eval sets whose mazes may be played: those built in, and those of one's projects."""

from collections.abc import Sequence
from contextlib import suppress

from sqlalchemy.ext.asyncio import AsyncSession

from app.access.permissions import Permission
from app.errors import NotFound
from app.evaluations import sets
from app.maze.eval_sets import EvalSet
from app.playground import form
from app.playground.contexts import SetGroup
from app.playground.form import Draft
from app.projects import service as projects
from app.web.deps import Viewer

MOST_SETS = 100
"""So many of those that people added are offered, the newest ones."""


async def set_groups(session: AsyncSession, viewer: Viewer) -> list[SetGroup]:
    """Those to choose from, by the project that they were added in."""
    homes = {
        each.project_id: each.name
        for each in viewer.projects
        if viewer.may(Permission.WRITE, each.project_id)
    }
    added: dict[str, list[EvalSet]] = {name: [] for name in homes.values()}
    if homes:
        found = await sets.list_page(session, projects=frozenset(homes), limit=MOST_SETS)
        for row in found.items:
            added[homes[row.project_id]].append(sets.as_set(row))
    groups = [_group(f"Added in {name}", each) for name, each in added.items() if each]
    return [_group("Built in", sets.built_in()), *groups]


async def find_chosen(session: AsyncSession, viewer: Viewer, draft: Draft) -> EvalSet:
    """The set that the form names, in the project that it names.

    Raises `NotFound` for a set that is not of this project, else as `projects.choose` does.
    """
    name = draft.text(form.EVAL_SET)
    home = await projects.choose(session, viewer.principal, draft.text(form.PROJECT) or None)
    with suppress(NotFound):
        # No database can be asked for a text with a NUL.
        if name.isprintable():
            return await sets.find(session, home, name)
    raise NotFound(f"{home.name} has no eval set {name}: choose the project that it was added in")


def _group(title: str, found: Sequence[EvalSet]) -> SetGroup:
    return SetGroup(title, [(each.name, f"{each.name} · {_words(each)}") for each in found])


def _words(found: EvalSet) -> str:
    count = len(found.seeds)
    return f"{count} maze{'s' * (count != 1)} · {found.max_turns} turns · {found.dialect}"
