"""What the tab of a run's checkpoints is given."""

from dataclasses import dataclass
from datetime import datetime

from app.runs.contexts import RunHead
from app.web.paging import Pager
from app.web.run_table import RateFigure


@dataclass(frozen=True, slots=True)
class MadeAdapter:
    """An adapter that was made of a checkpoint. `status` as in `AdapterStatus`."""

    slug: str
    name: str
    status: str


@dataclass(frozen=True, slots=True)
class CheckpointRow:
    """A row of the table. `state` is `complete`, `unseen`, `unfinished`, `broken` or `gone`."""

    step: int
    kind: str
    attempt: int
    path: str
    size_bytes: int | None
    state: str
    problem: str
    saved_at: datetime
    rate: RateFigure | None
    pass_at_1: float | None
    is_best_evaluated: bool
    is_best_exportable: bool
    promote_url: str
    """Empty where the viewer may not, or nothing can be made of it."""
    adapters: list[MadeAdapter]


@dataclass(frozen=True, slots=True)
class CheckpointsPage:
    """What a run has saved. `note` says which step did best, and which of the exported ones."""

    head: RunHead
    rows: list[CheckpointRow]
    note: str
    pager: Pager
