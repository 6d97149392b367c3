"""Which evaluation belongs to a checkpoint, and which checkpoint is the best. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from app.metrics.service import EvaluationCount
from app.models import Checkpoint, CheckpointKind


@dataclass(frozen=True, slots=True)
class Shown:
    """A checkpoint with what its run measured at its step.

    `pass_at_1` may come from a metric, without any `evaluation` whose mazes were kept. The two
    marks can be on different steps: the best step may have no export, or a broken one.
    """

    row: Checkpoint
    evaluation: EvaluationCount | None
    pass_at_1: float | None
    is_best_evaluated: bool = False
    is_best_exportable: bool = False

    @property
    def solve_rate(self) -> float | None:
        return self.evaluation.solved / self.evaluation.n if self.evaluation else None


@dataclass(frozen=True, slots=True)
class Best:
    """The steps that did best; `measure` is what they were compared by, empty if nothing was.

    `value` is of the step that was `evaluated` best. `exportable`: the id of the adapter.
    """

    measure: str = ""
    evaluated: int | None = None
    value: float | None = None
    exportable: UUID | None = None
    exportable_step: int | None = None


def is_exportable(row: Checkpoint) -> bool:
    """Whether an adapter can be made of it."""
    return row.kind is CheckpointKind.ADAPTER and row.is_complete and row.gone_at is None


def of_checkpoint(row: Checkpoint, counts: Iterable[EvaluationCount]) -> EvaluationCount | None:
    """The evaluation that the attempt which saved it made at that step.

    Another attempt's weights at the same step are others.
    """
    return next((c for c in counts if (c.step, c.attempt) == (row.step, row.attempt_number)), None)


def shown_counts(counts: Sequence[EvaluationCount]) -> list[EvaluationCount]:
    """Those that the run's charts show: the newest attempt's from its first one on."""
    kept: list[EvaluationCount] = []
    for count in counts:
        while kept and kept[-1].attempt < count.attempt and kept[-1].step >= count.step:
            kept.pop()
        kept.append(count)
    return kept


def find_best(
    rows: Sequence[Checkpoint],
    counts: Sequence[EvaluationCount],
    passes: Mapping[int, float],
) -> Best:
    """By solve rate, or by pass_at_1 where no maze was counted. The first of equals.

    `rows` need hold only adapters; `passes` is pass_at_1 by step.
    """
    exports = sorted(filter(is_exportable, rows), key=lambda row: row.step)
    if counts:
        measured = {count.step: count.solved / count.n for count in shown_counts(counts)}
        values = {
            row.id: count.solved / count.n
            for row in exports
            if (count := of_checkpoint(row, counts))
        }
        measure = "solve rate"
    else:
        measured = dict(passes)
        values = {row.id: passes[row.step] for row in exports if row.step in passes}
        measure = "pass_at_1"
    if not measured:
        return Best()
    step = max(sorted(measured), key=lambda each: measured[each])
    exportable = max(values, key=lambda each: values[each]) if values else None
    steps = {row.id: row.step for row in exports}
    exportable_step = steps[exportable] if exportable else None
    return Best(measure, step, measured[step], exportable, exportable_step)


def show(
    row: Checkpoint,
    best: Best,
    counts: Sequence[EvaluationCount],
    passes: Mapping[int, float],
) -> Shown:
    count = of_checkpoint(row, counts)
    return Shown(
        row,
        count,
        count.passed / count.n if count else passes.get(row.step),
        is_best_evaluated=row.step == best.evaluated and (count is not None or not counts),
        is_best_exportable=row.id == best.exportable,
    )
