"""What the pages about experiments are given."""

from dataclasses import dataclass
from datetime import datetime

from app.web.paging import Pager
from app.web.run_table import RunRow


@dataclass(frozen=True, slots=True)
class ExperimentRow:
    """An experiment in one line."""

    slug: str
    name: str
    project_slug: str
    project_name: str
    recipe: str
    """Empty for experiments whose runs are fed from outside."""
    version: int | None
    run_count: int
    tags: list[str]
    owner: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ExperimentsPage:
    """The list of experiments, newest first."""

    rows: list[ExperimentRow]
    pager: Pager
    names_projects: bool
    """Whether the rows may be of several projects."""


@dataclass(frozen=True, slots=True)
class ExperimentPage:
    """`query`, `status` and `project` are those of the runs table: no filter here."""

    experiment: ExperimentRow
    hypothesis: str
    rows: list[RunRow]
    pager: Pager
    can_write: bool
    query: str = ""
    status: str = ""
    project: str = ""
