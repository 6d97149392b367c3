"""Checkpoints and adapters as their rows, without any file."""

from sqlalchemy.ext.asyncio import AsyncSession

from app.adapters import service as adapters
from app.checkpoints import service as checkpoints
from app.clock import utcnow
from app.ids import new_id, new_slug
from app.models import Adapter, AdapterStatus, Checkpoint, CheckpointKind, Promotion, Run
from app.models import PromotionStatus as Status
from tests.factories.runs import ADA


async def make_checkpoint(
    session: AsyncSession,
    run: Run,
    step: int = 20,
    *,
    kind: CheckpointKind = CheckpointKind.ADAPTER,
    problem: str = "",
) -> Checkpoint:
    """Seen, and complete unless it has a problem."""
    now = utcnow()
    place = (
        f"exports/global_step_{step}/policy" if kind == "adapter" else f"ckpts/global_step_{step}"
    )
    row = Checkpoint(
        id=new_id(),
        slug=new_slug("ckpt"),
        project_id=run.project_id,
        run_id=run.id,
        attempt_number=1,
        kind=kind,
        step=step,
        path=f"/home/ada/.skydeck/runs/{run.slug}/{place}",
        size_bytes=87_000,
        is_complete=not problem,
        problem=problem,
        saved_at=now,
        seen_at=now,
    )
    session.add(row)
    await session.flush()
    return row


async def make_promotion(
    session: AsyncSession,
    run: Run,
    step: int = 20,
    *,
    name: str | None = None,
    status: Status = Status.SUCCEEDED,
) -> Promotion:
    """Of a new checkpoint of a run; ended unless told otherwise."""
    made = await make_checkpoint(session, run, step)
    slug = made.slug
    # Loaded as services load it, and not as it was made.
    session.expunge(made)
    checkpoint = await checkpoints.get(session, slug)
    promotion = await adapters.promote(session, checkpoint, actor=ADA, name=name)
    promotion.status = status
    if status in (Status.SUCCEEDED, Status.FAILED):
        promotion.due_at, promotion.ended_at = None, utcnow()
    if status is Status.SUCCEEDED:
        promotion.total_bytes = promotion.copied_bytes = 87_000
        row: Adapter = promotion.adapter
        row.status, row.ready_at = AdapterStatus.READY, utcnow()
        row.base, row.rank, row.size_bytes, row.sha256 = "skydeck-maze-base", 32, 87_000, "a" * 64
    elif status is Status.FAILED:
        promotion.adapter.status = AdapterStatus.FAILED
        promotion.failure = {
            "kind": "weights_broken",
            "message": "adapter_model.safetensors is not whole: it holds no tensor",
            "hint": "promote another step of the run",
        }
    await session.flush()
    return promotion
