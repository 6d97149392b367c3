"""What the table of runs and its parts are given; each field is read by a template."""

from dataclasses import dataclass
from typing import Protocol

from app.web.cluster_line import ClusterLine
from app.web.paging import Pager
from app.web.run_table import RunRow


@dataclass(frozen=True, slots=True)
class StatusChip:
    """A link that narrows the runs table to one status."""

    title: str
    url: str
    is_current: bool


@dataclass(frozen=True, slots=True)
class ColumnHead:
    """The head of a column. `order` is `ascending`, `descending` or empty, as it is sorted by."""

    title: str
    url: str
    order: str
    remove_url: str
    """Takes the column away; empty for those that stay."""


@dataclass(frozen=True, slots=True)
class GroupRow:
    """Some runs summed up. `cells` are mean, least, most and n of each chosen column."""

    value: str
    count: int
    url: str
    """These runs alone; empty where there is no such table."""
    cells: list[str]


@dataclass(frozen=True, slots=True)
class ViewLink:
    """A table that the reader named."""

    name: str
    url: str
    delete_url: str
    is_current: bool


@dataclass(frozen=True, slots=True)
class NameLink:
    """A key that can be a column: the links show it, or take it away where it is shown."""

    name: str
    links: list[StatusChip]


@dataclass(frozen=True, slots=True)
class ColumnPicker:
    """Keys to choose columns from."""

    words: str
    query: list[tuple[str, str]]
    """What the table asks for otherwise, kept by the search."""
    metrics: list[NameLink]
    configs: list[NameLink]
    has_more: bool
    back_url: str


@dataclass(frozen=True, slots=True)
class ChosenRun:
    """A run that was chosen. `why_not`: it stays as it is, for this reason."""

    slug: str
    name: str
    status: str
    why_not: str


@dataclass(frozen=True, slots=True)
class SelectedPage:
    """What is about to happen to chosen runs, and to which of them."""

    title: str
    verb: str
    consequence: str
    is_danger: bool
    fitting: list[ChosenRun]
    others: list[ChosenRun]
    asks_tag: bool
    tag: str
    known_tags: list[str]
    problem: str
    action_url: str
    back_url: str


class TableQuery(Protocol):
    """What the address of the table asks for; see `app/runs/table_views.py`."""

    @property
    def project(self) -> str: ...

    @property
    def words(self) -> str: ...

    @property
    def status(self) -> str: ...

    @property
    def sweep(self) -> str: ...

    @property
    def filter(self) -> str: ...

    @property
    def sort(self) -> str: ...

    @property
    def columns(self) -> tuple[str, ...]: ...

    @property
    def group(self) -> str: ...

    @property
    def is_narrowed(self) -> bool: ...

    @property
    def query_string(self) -> str: ...


@dataclass(frozen=True, slots=True)
class RunsPage:
    """The runs table: filters, columns, groups."""

    rows: list[RunRow]
    cells: list[list[str]]
    """The values of `columns`, a list a row."""
    heads: dict[str, ColumnHead]
    columns: list[ColumnHead]
    groups: list[GroupRow]
    """Instead of rows, where they are asked for."""
    group_names: list[StatusChip]
    asked: TableQuery
    problem: str
    """What is wrong with what was asked; the table is empty then."""
    can_select: bool
    """Whether the reader may do something to chosen runs."""
    chips: list[StatusChip]
    without_sweep_url: str
    views: list[ViewLink]
    live_url: str
    """Where the table's newer form comes from; the same page."""
    picker_url: str
    csv_url: str
    pager: Pager
    cluster: ClusterLine | None
