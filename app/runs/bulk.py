"""What people do to many chosen runs at once: the number of queries does not grow with them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy.ext.asyncio import AsyncSession

from app.access.principal import Actor
from app.audit.actions import Action
from app.clock import utcnow
from app.errors import Invalid, NotFound, Problem
from app.experiments import service as experiments
from app.models import DesiredStatus, Run, RunOrigin
from app.runs import repository, rows
from app.runs.states import ENDED
from app.sharing import service as sharing

MAX_RUNS = 500


class Bulk(StrEnum):
    """What can be done to chosen runs."""

    STOP = "stop"
    DELETE = "delete"
    TAG = "tag"
    UNTAG = "untag"
    PIN = "pin"
    UNPIN = "unpin"
    ARCHIVE = "archive"
    UNARCHIVE = "unarchive"


@dataclass(frozen=True, slots=True)
class Plan:
    """The runs that it can be done to, and each of the others with why not."""

    fitting: Sequence[Run]
    others: Sequence[tuple[Run, str]]


async def plan(session: AsyncSession, slugs: Sequence[str], what: Bulk) -> Plan:
    """What would happen now, in the order of the slugs.

    Raises `Invalid` for none or for more than `MAX_RUNS`, and `NotFound`.
    """
    return _planned(await _found(session, slugs, is_held=False), what)


async def apply(
    session: AsyncSession, slugs: Sequence[str], what: Bulk, *, actor: Actor, tag: str = ""
) -> Plan:
    """Does it to all runs that it can be done to; the others stay as they are.

    Raises `Invalid` for a tag as well.
    """
    tags = _one_tag(tag) if what in (Bulk.TAG, Bulk.UNTAG) else []
    made = _planned(await _found(session, slugs, is_held=True), what)
    before = [rows.fields(run) for run in made.fitting]
    await _change(session, made.fitting, what, tags, actor)
    for run, earlier in zip(made.fitting, before, strict=True):
        rows.record(session, actor, _ACTIONS.get(what, Action.RUN_CHANGE), run, earlier)
    await session.flush()
    return made


async def _found(session: AsyncSession, slugs: Sequence[str], *, is_held: bool) -> list[Run]:
    wanted = list(dict.fromkeys(slugs))
    if not 1 <= len(wanted) <= MAX_RUNS:
        message = f"choose at least one run and at most {MAX_RUNS} at a time; nothing was changed"
        raise Invalid(message, [Problem("run", "count", message)])
    read = repository.lock_by_slug if is_held else repository.list_by_slug
    found = {run.slug: run for run in await read(session, wanted)}
    for slug in wanted:
        if slug not in found:
            raise NotFound(f"there is no run {slug}")
    return [found[slug] for slug in wanted]


def _planned(runs: Sequence[Run], what: Bulk) -> Plan:
    refusals = [(run, _REFUSALS[what](run)) for run in runs]
    return Plan(
        [run for run, why in refusals if not why], [(run, why) for run, why in refusals if why]
    )


def _no_stop(run: Run) -> str:
    if run.status in ENDED:
        return "it has ended already"
    if run.origin is RunOrigin.EXTERNAL:
        return "it runs outside Skydeck: end it there"
    return "it is asked to already" if run.desired_status is DesiredStatus.STOP else ""


def _no_delete(run: Run) -> str:
    if run.deleted_at is not None:
        return "it is deleted already"
    return "" if run.status in ENDED else "it is under way: stop it first"


_REFUSALS: dict[Bulk, Callable[[Run], str]] = {
    Bulk.STOP: _no_stop,
    Bulk.DELETE: _no_delete,
    Bulk.TAG: lambda _: "",
    Bulk.UNTAG: lambda run: "" if run.tags else "it has no tag",
    Bulk.PIN: lambda run: "it is pinned already" if run.pinned_at else "",
    Bulk.UNPIN: lambda run: "" if run.pinned_at else "it is not pinned",
    Bulk.ARCHIVE: lambda run: "it is archived already" if run.archived_at else "",
    Bulk.UNARCHIVE: lambda run: "" if run.archived_at else "it is not archived",
}
_ACTIONS = {Bulk.STOP: Action.RUN_STOP, Bulk.DELETE: Action.RUN_DELETE}


async def _change(
    session: AsyncSession, runs: Sequence[Run], what: Bulk, tags: Sequence[str], actor: Actor
) -> None:
    now = utcnow()
    match what:
        case Bulk.STOP:
            stop = DesiredStatus.STOP
            await repository.set_desired_all(session, [run.id for run in runs], stop)
            session.add_all(
                rows.wish_note(run, stop, actor=actor, reason="stop_requested") for run in runs
            )
        case Bulk.DELETE:
            for run in runs:
                run.deleted_at = now
                session.add(rows.note(run, actor=actor, kind="deleted", at=now))
            await sharing.revoke_all_of(session, runs, actor=actor)
        case Bulk.TAG | Bulk.UNTAG:
            await _set_tags(session, runs, what, tags)
        case Bulk.PIN | Bulk.UNPIN:
            for run in runs:
                run.pinned_at = now if what is Bulk.PIN else None
        case Bulk.ARCHIVE | Bulk.UNARCHIVE:
            for run in runs:
                run.archived_at = now if what is Bulk.ARCHIVE else None


async def _set_tags(
    session: AsyncSession, runs: Sequence[Run], what: Bulk, tags: Sequence[str]
) -> None:
    for run in runs:
        kept = [tag for tag in run.tags if tag not in tags]
        wanted = [*kept, *tags] if what is Bulk.TAG else kept
        run.tags = experiments.checked_tags(wanted)
    await repository.replace_tag(session, tags, [run.id for run in runs], is_set=what is Bulk.TAG)


def _one_tag(tag: str) -> list[str]:
    tags = experiments.checked_tags([tag])
    if not tags:
        message = "say which tag"
        raise Invalid(message, [Problem("tag", "required", message)])
    return tags
