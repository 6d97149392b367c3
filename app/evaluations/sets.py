"""Eval sets: those built in and those that people add, which are never changed."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from app.access.principal import Actor
from app.audit import service as audit
from app.audit.actions import Action
from app.audit.service import Target
from app.clock import utcnow
from app.episodes.service import MAX_TURNS
from app.errors import Conflict, Invalid, NotFound, Problem
from app.evaluations import repository
from app.evaluations.seeds import checked_seeds
from app.ids import new_id
from app.maze.eval_sets import EVAL_SETS, EvalSet
from app.maze.generate import size_of
from app.maze.parse import Dialect
from app.maze.solve import count_solvable
from app.models import CustomEvalSet, Project
from app.paging import Page, decode_id_cursor, page_of

MAX_CELLS = 200_000
"""Cells of all mazes of a set: counting what can be solved takes about a second for so many."""
_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,62}[a-z0-9])?")
_NAME_RULE = "a name has 1 to 64 of a-z, 0-9, dot and dash, a letter or digit at both ends"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSet:
    """An eval set that is asked for."""

    name: str
    env_id: str
    seeds: Sequence[int]
    max_turns: int
    dialect: Dialect


def built_in() -> list[EvalSet]:
    return list(EVAL_SETS.values())


async def find(session: AsyncSession, project: Project, name: str) -> EvalSet:
    """The set that `name` means in a project. Raises `NotFound`."""
    if name in EVAL_SETS:
        return EVAL_SETS[name]
    row = await repository.find_set(session, project.id, name)
    if row is None:
        known = ", ".join(EVAL_SETS)
        raise NotFound(f"there is no eval set {name}: built in are {known}")
    return as_set(row)


async def list_of_project(session: AsyncSession, project_id: UUID) -> list[EvalSet]:
    """All sets to choose from in a project, the built-in ones first."""
    return [*built_in(), *map(as_set, await repository.list_sets_of(session, project_id))]


async def list_page(
    session: AsyncSession,
    *,
    projects: frozenset[UUID] | None,
    limit: int = 50,
    cursor: str | None = None,
) -> Page[CustomEvalSet]:
    """Those that people added in `projects` (None: in all), newest first."""
    rows = await repository.list_sets_before(
        session,
        projects=projects,
        before=decode_id_cursor(cursor) if cursor else None,
        limit=limit + 1,
    )
    return page_of(rows, limit, lambda row: [str(row.id)])


async def check(wanted: NewSet) -> EvalSet:
    """The set with its number of solvable mazes, counted in a thread; no session is needed.

    Raises `Invalid` with every problem.
    """
    problems = problems_of(wanted)
    if problems:
        raise Invalid("this is no eval set", problems)
    solvable = await asyncio.to_thread(
        count_solvable, wanted.env_id, wanted.seeds, max_turns=wanted.max_turns
    )
    return EvalSet(
        name=wanted.name,
        env_id=wanted.env_id,
        seeds=tuple(wanted.seeds),
        max_turns=wanted.max_turns,
        dialect=wanted.dialect,
        solvable_count=solvable,
    )


def problems_of(wanted: NewSet) -> list[Problem]:
    """Everything that keeps it from being an eval set, found without a database."""
    found: list[Problem] = []
    if not _NAME.fullmatch(wanted.name):
        found.append(Problem("name", "name", _NAME_RULE))
    elif wanted.name in EVAL_SETS:
        taken = f"{wanted.name} is built in: take another name"
        found.append(Problem("name", "taken", taken))
    try:
        checked_seeds(wanted.seeds)
    except ValueError as error:
        found.append(Problem("seeds", "seeds", str(error)))
    try:
        height, width = size_of(wanted.env_id)
        most = MAX_CELLS // (height * width)
        if len(wanted.seeds) > most:
            message = f"at most {most} mazes of this size fit into a set"
            found.append(Problem("seeds", "too_many", message))
    except ValueError as error:
        found.append(Problem("env_id", "env_id", str(error)))
    if not 1 <= wanted.max_turns <= MAX_TURNS:
        message = f"an episode has 1 to {MAX_TURNS} turns"
        found.append(Problem("max_turns", "range", message))
    return found


async def create(
    session: AsyncSession, project: Project, checked: EvalSet, *, actor: Actor
) -> CustomEvalSet:
    """Stores what `check` gave. Raises `Conflict` for a name that the project has already."""
    row = CustomEvalSet(
        id=new_id(),
        project_id=project.id,
        name=checked.name,
        env_id=checked.env_id,
        seeds=list(checked.seeds),
        max_turns=checked.max_turns,
        dialect=checked.dialect,
        solvable_count=checked.solvable_count,
        owner=actor.name,
        created_at=utcnow(),
    )
    try:
        async with session.begin_nested():
            session.add(row)
    except IntegrityError:
        raise Conflict(
            f"this project has an eval set {checked.name} already, and sets are never changed: "
            "take another name"
        ) from None
    target = Target("eval_set", row.name, project.id)
    details = {"env_id": row.env_id, "seeds": len(row.seeds), "max_turns": row.max_turns}
    audit.record(session, actor, Action.EVAL_SET_CREATE, target, details=details)
    await session.flush()
    return row


def as_set(row: CustomEvalSet) -> EvalSet:
    return EvalSet(
        name=row.name,
        env_id=row.env_id,
        seeds=tuple(row.seeds),
        max_turns=row.max_turns,
        dialect=Dialect(row.dialect),
        solvable_count=row.solvable_count,
    )
