"""Whole runs taken in at once: made, filled and ended by few statements, however many they are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from app.access.principal import Actor
from app.audit.actions import Action
from app.clock import utcnow
from app.errors import Invalid, Problem
from app.experiments import service as experiments
from app.metrics import service as metrics
from app.metrics.columns import Columns
from app.models import Config, Event, Experiment, Project, Run, RunStatus
from app.runs import launch_checks, rows
from app.runs.states import ENDED, created, transition


@dataclass(frozen=True, slots=True)
class ImportedRun:
    """A run that was executed elsewhere. `status` None: it goes on, and is fed by pushes.

    `columns` are its points by key. Without an `experiment` its name is the experiment's, too.
    """

    name: str
    experiment: str | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
    tags: Sequence[str] = ()
    status: RunStatus | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    columns: Mapping[str, Columns] = field(default_factory=dict)


async def import_runs(
    session: AsyncSession, project: Project, given: Sequence[ImportedRun], *, actor: Actor
) -> list[Run]:
    """The runs, in the order given, with all their points; all of them are stored or none.

    Raises `Invalid` for a name, a status that is no end, times in the wrong order, more keys than
    a run may have, and any text that holds a secret.
    """
    for place, each in enumerate(given):
        _check(each, f"runs.{place}")
    texts = {f"runs.{place}": _texts(each) for place, each in enumerate(given)}
    await launch_checks.check_texts(session, project.id, texts)
    names = dict.fromkeys(each.experiment or each.name for each in given)
    homes = {
        name: await experiments.find_or_create_by_name(session, project, name, actor=actor)
        for name in names
    }
    made = [_make(homes[each.experiment or each.name], each, actor) for each in given]
    runs = [run for run, _ in made]
    # Before the runs are stored: how they ended is stored with them.
    events = [_events(run, each, actor) for run, each in zip(runs, given, strict=True)]
    session.add_all([config for _, config in made])
    session.add_all(runs)
    await session.flush()
    await rows.add_values(session, made)
    columns = {run.id: each.columns for run, each in zip(runs, given, strict=True)}
    await metrics.add_new(session, columns)
    for run in runs:
        rows.record(session, actor, Action.RUN_CREATE, run)
    session.add_all(chain.from_iterable(events))
    await session.flush()
    return runs


def _check(each: ImportedRun, place: str) -> None:
    if each.status is not None and each.status not in ENDED:
        message = f"a run that is taken in has ended as one of {', '.join(sorted(ENDED))}"
        raise Invalid(message, [Problem(f"{place}.status", "choices", message)])
    if each.ended_at is not None and each.status is None:
        message = "give the status in which the run ended"
        raise Invalid(message, [Problem(f"{place}.status", "required", message)])
    now = utcnow()
    if not (each.started_at or each.ended_at or now) <= (each.ended_at or now) <= now:
        message = "a run starts before it ends, and not in the future"
        raise Invalid(message, [Problem(f"{place}.ended_at", "order", message)])
    metrics.check_key_count(len(each.columns), place=f"{place}.metrics")


def _texts(each: ImportedRun) -> list[Any]:
    # One text of all keys: thousands are looked through at once.
    return [each.name, each.experiment, dict(each.config), list(each.tags), "\n".join(each.columns)]


def _make(home: Experiment, each: ImportedRun, actor: Actor) -> tuple[Run, Config]:
    run, config = rows.new_external(
        home, actor=actor, name=each.name, config=each.config, tags=each.tags
    )
    if each.started_at or each.ended_at:
        run.started_at = each.started_at or each.ended_at
    run.metrics_revision = 1
    return run, config


def _events(run: Run, each: ImportedRun, actor: Actor) -> list[Event]:
    found = [created(run, at=run.created_at, actor=actor.name)]
    if each.status is not None:
        at = each.ended_at or run.created_at
        found.append(transition(run, each.status, at=at, actor=actor.name, reason="imported"))
    return found
