"""Builds the tab of a run's checkpoints. Reads no database."""

from collections.abc import Sequence
from uuid import UUID

from app.checkpoints.contexts import CheckpointRow, MadeAdapter
from app.checkpoints.service import Best, Shown, is_exportable
from app.models import Adapter, Checkpoint, CheckpointKind
from app.web.filters import percent
from app.web.run_table import rate_figure


def checkpoint_row(shown: Shown, made: Sequence[Adapter], *, can_write: bool) -> CheckpointRow:
    """`made` are the adapters that were made of it."""
    row, count = shown.row, shown.evaluation
    return CheckpointRow(
        step=row.step,
        kind=row.kind,
        attempt=row.attempt_number,
        path=row.path,
        size_bytes=row.size_bytes,
        state=_state(row),
        problem=row.problem,
        saved_at=row.saved_at,
        rate=rate_figure(count.solved, count.n) if count else None,
        pass_at_1=shown.pass_at_1,
        is_best_evaluated=shown.is_best_evaluated,
        is_best_exportable=shown.is_best_exportable,
        promote_url=f"/checkpoints/{row.slug}/promote" if can_write and is_exportable(row) else "",
        adapters=[MadeAdapter(each.slug, each.name, each.status) for each in made],
    )


def best_note(best: Best) -> str:
    """Which step did best, and which of those that were exported; empty if nothing was measured."""
    if best.evaluated is None or best.value is None:
        return ""
    said = f"Best {best.measure}: {percent(best.value)} at step {best.evaluated:,}."
    if best.exportable_step is None:
        return f"{said} No adapter that was measured can be promoted."
    if best.exportable_step == best.evaluated:
        return f"{said} Its adapter can be promoted."
    return f"{said} Of the adapters that can be promoted, step {best.exportable_step:,} did best."


def by_checkpoint(adapters: Sequence[Adapter]) -> dict[UUID, list[Adapter]]:
    found: dict[UUID, list[Adapter]] = {}
    for each in adapters:
        found.setdefault(each.checkpoint_id, []).append(each)
    return found


def _state(row: Checkpoint) -> str:
    if row.gone_at is not None:
        return "gone"
    if row.is_complete:
        return "complete"
    if row.seen_at is None:
        return "unseen"
    return "unfinished" if row.kind is CheckpointKind.STATE else "broken"
