"""Adapters: promoted from a run's checkpoint under a name that is used once and for ever.

What is asked for is stored here; a worker copies (`worker/reconcilers/promotions.py`).
"""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from app.access.principal import Actor
from app.adapters import destinations, repository
from app.adapters.destinations import Destination
from app.adapters.names import checked_name, default_name, free_variant
from app.audit import service as audit
from app.audit.actions import Action
from app.audit.service import Target
from app.checkpoints import service as checkpoints
from app.clock import utcnow
from app.endpoints import service as endpoints
from app.errors import Conflict, Invalid, NotFound, Problem
from app.ids import new_id, new_slug
from app.models import (
    Adapter,
    AdapterStatus,
    Checkpoint,
    CheckpointKind,
    ClusterKind,
    Promotion,
    PromotionStatus,
    Run,
)
from app.paging import Page, decode_id_cursor, page_of

__all__ = [
    "OPEN",
    "NameInUse",
    "default_name",
    "delete",
    "get",
    "get_promotion",
    "list_of_run",
    "list_page",
    "promote",
    "promotion_of",
]

OPEN = (PromotionStatus.QUEUED, PromotionStatus.RUNNING)


class NameInUse(Conflict):
    """`suggestion` is a name that nobody has yet."""

    def __init__(self, name: str, suggestion: str) -> None:
        super().__init__(
            f"the name {name} is in use, and names of adapters are never used again: "
            f"take another one, such as {suggestion}"
        )
        self.suggestion = suggestion


async def promote(
    session: AsyncSession,
    checkpoint: Checkpoint,
    *,
    actor: Actor,
    name: str | None = None,
    destination: str | None = None,
    endpoint: str | None = None,
) -> Promotion:
    """Asks for a checkpoint's adapter to be copied; asked again, gives the same promotion.

    One that failed is tried again. `name` is `<run>-s<step>` unless given, `endpoint` the slug or
    name of one that serves the destination. Raises `Invalid`, `NameInUse`, and `Conflict` for a
    checkpoint that cannot be promoted.
    """
    wanted = checked_name(name or default_name(checkpoint.run.slug, checkpoint.step))
    place = destinations.get(destination)
    await _check_endpoint(session, endpoint, place)
    known = await repository.find_named(session, wanted)
    if known is not None:
        return await _again(session, known, checkpoint, actor)
    _require_promotable(checkpoint)
    adapter = await _new_adapter(session, checkpoint, wanted, place.name, actor)
    promotion = _new_promotion(adapter)
    try:
        async with session.begin_nested():
            session.add(adapter)
            await session.flush()
    except IntegrityError:
        # Somebody else took the name between the look and now.
        raise await _in_use(session, wanted) from None
    session.add(promotion)
    _record(session, actor, Action.ADAPTER_PROMOTE, adapter)
    await session.flush()
    return await get_promotion(session, promotion.slug)


async def get_promotion(session: AsyncSession, slug: str) -> Promotion:
    """With its adapter, and that one's run, config and checkpoint. Raises `NotFound`."""
    found = await repository.find_promotion(session, slug)
    if found is None:
        raise NotFound(f"there is no promotion {slug}")
    return found


async def get(session: AsyncSession, slug: str) -> Adapter:
    """With run, config and checkpoint. Raises `NotFound`."""
    found = await repository.find_adapter(session, slug)
    if found is None:
        raise NotFound(f"there is no adapter {slug}")
    return found


async def promotion_of(session: AsyncSession, adapter: Adapter) -> Promotion:
    """The promotion that made it, or makes it."""
    return await repository.promotion_of(session, adapter.id)


async def list_page(
    session: AsyncSession,
    *,
    projects: frozenset[UUID] | None,
    run: Run | None = None,
    with_deleted: bool = False,
    limit: int = 50,
    cursor: str | None = None,
) -> Page[Promotion]:
    """The promotions of adapters in `projects` (None: in all), newest first, adapters loaded."""
    rows = await repository.list_before(
        session,
        projects=projects,
        run_id=run.id if run else None,
        with_deleted=with_deleted,
        before=decode_id_cursor(cursor) if cursor else None,
        limit=limit + 1,
    )
    return page_of(rows, limit, lambda row: [str(row.adapter_id)])


async def list_of_run(session: AsyncSession, run: Run) -> Sequence[Adapter]:
    """Those that are not deleted, oldest first."""
    return await repository.list_of_checkpoints(session, run.id)


async def list_beside_base(
    session: AsyncSession, run: Run, *, step: int, attempt: int
) -> list[str]:
    """A served adapter of the run and its base, base first, named by endpoint and model.

    The one of this step and attempt if there is one, else the newest; empty if none is served.
    """
    served = [
        each for each in await list_of_run(session, run) if each.status is AdapterStatus.READY
    ]
    if not served:
        return []
    exact = [each for each in served if (each.step, each.attempt_number) == (step, attempt)]
    found = (exact or served)[-1]
    return destinations.of(found.destination).beside_base(found.name)


async def delete(session: AsyncSession, adapter: Adapter, *, actor: Actor) -> Adapter:
    """Has an adapter moved aside; its name stays used. Again: changes nothing.

    Raises `Conflict` while it is being promoted.
    """
    if adapter.status is AdapterStatus.DELETED:
        return adapter
    promotion = await repository.promotion_of(session, adapter.id)
    if promotion.status in OPEN:
        raise Conflict(f"adapter {adapter.name} is being promoted: wait until that has ended")
    now = utcnow()
    adapter.status, adapter.deleted_at = AdapterStatus.DELETED, now
    # A worker moves the files.
    promotion.due_at = now
    _record(session, actor, Action.ADAPTER_DELETE, adapter)
    await session.flush()
    return adapter


async def _new_adapter(
    session: AsyncSession, checkpoint: Checkpoint, name: str, destination: str, actor: Actor
) -> Adapter:
    run = checkpoint.run
    measured = await checkpoints.evaluation_of(session, checkpoint, run)
    evaluation = None
    if measured is not None:
        evaluation = {"solved": measured.solved, "passed": measured.passed, "n": measured.n}
    return Adapter(
        id=new_id(),
        slug=new_slug("adp"),
        name=name,
        project_id=run.project_id,
        run_id=run.id,
        checkpoint_id=checkpoint.id,
        attempt_number=checkpoint.attempt_number,
        step=checkpoint.step,
        config_id=run.config_id,
        evaluation=evaluation,
        status=AdapterStatus.PROMOTING,
        destination=destination,
        created_by=actor.name,
        created_at=utcnow(),
    )


def _new_promotion(adapter: Adapter) -> Promotion:
    return Promotion(
        id=new_id(),
        slug=new_slug("prm"),
        project_id=adapter.project_id,
        adapter_id=adapter.id,
        status=PromotionStatus.QUEUED,
        asked_by=adapter.created_by,
        created_at=adapter.created_at,
        due_at=adapter.created_at,
    )


async def _again(
    session: AsyncSession, known: Adapter, checkpoint: Checkpoint, actor: Actor
) -> Promotion:
    """The promotion that was asked for before, under way again if it had failed."""
    if known.checkpoint_id != checkpoint.id or known.status is AdapterStatus.DELETED:
        raise await _in_use(session, known.name)
    promotion = await repository.promotion_of(session, known.id)
    if promotion.status is PromotionStatus.FAILED:
        now = utcnow()
        promotion.status, promotion.due_at = PromotionStatus.QUEUED, now
        promotion.tries, promotion.ended_at, promotion.asked_by = 0, None, actor.name
        known.status = AdapterStatus.PROMOTING
        _record(session, actor, Action.ADAPTER_PROMOTE, known)
        await session.flush()
    return promotion


async def _in_use(session: AsyncSession, name: str) -> NameInUse:
    # A variant of the longest name is cut; all begin alike.
    taken = await repository.list_names(session, name[:50])
    return NameInUse(name, free_variant(name, taken))


def _require_promotable(checkpoint: Checkpoint) -> None:
    run = checkpoint.run
    if run.deleted_at is not None:
        raise Conflict(f"run {run.slug} is deleted: restore it before promoting from it")
    if checkpoint.kind is not CheckpointKind.ADAPTER:
        raise Conflict(
            f"{checkpoint.slug} is the whole training state of step {checkpoint.step}: "
            "promote the adapter of a step instead"
        )
    if checkpoint.gone_at is not None or (checkpoint.problem and checkpoint.seen_at):
        reason = checkpoint.problem
        raise Conflict(f"{checkpoint.slug} cannot be promoted: {reason}")
    if run.cluster is None or run.cluster.kind is not ClusterKind.EMBEDDED:
        raise Conflict(
            f"{checkpoint.slug} lies on another machine: only runs of the embedded cluster can be "
            "promoted here"
        )


async def _check_endpoint(session: AsyncSession, wanted: str | None, place: Destination) -> None:
    """Only this machine's endpoint reads a destination; the others read storage of their own."""
    if wanted in (None, place.name):
        return
    found = await endpoints.find_called(session, wanted)
    if found is not None and found.slug == place.name:
        return
    message = (
        f"{found.name} loads adapters from storage of its own, to which nothing can be copied from "
        f"here: promote to {place.title} ({place.name}) instead"
        if found
        else f"there is no endpoint {wanted}"
    )
    raise Invalid(message, [Problem("endpoint", "choices", message)])


def _record(session: AsyncSession, actor: Actor, action: Action, adapter: Adapter) -> None:
    target = Target("adapter", adapter.slug, adapter.project_id)
    details = {"name": adapter.name, "step": adapter.step, "destination": adapter.destination}
    audit.record(session, actor, action, target, details=details)
