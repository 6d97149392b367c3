"""What the pages about experiments are given."""

from dataclasses import dataclass, field
from datetime import datetime

from app.runs.table_contexts import ColumnHead, GroupRow
from app.runs.table_views import Asked, plain_heads
from app.web.config_table import ConfigGroup
from app.web.forms import FormField
from app.web.paging import Pager
from app.web.run_table import RunRow


@dataclass(frozen=True, slots=True)
class Link:
    """A link of a row of links; `is_current`: to what is shown already."""

    title: str
    url: str
    is_current: bool = False


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
    """The list of experiments, newest first. `query`, `tag`: what it is narrowed to, or empty."""

    rows: list[ExperimentRow]
    pager: Pager
    names_projects: bool
    """Whether the rows may be of several projects."""
    query: str
    tag: str
    without_tag_url: str
    project: str
    is_archived: bool
    """Whether these are the archived ones."""
    chips: list[Link]


@dataclass(frozen=True, slots=True)
class ExperimentHead:
    """The top of each page about one experiment."""

    experiment: ExperimentRow
    archived_at: datetime | None
    origin: Link | None
    """The version that it was forked from, where the reader may see that."""
    is_fork: bool
    can_write: bool
    can_launch: bool
    """Whether there is a config to run, and the reader may."""
    tabs: list[Link]


@dataclass(frozen=True, slots=True)
class ExperimentPage:
    """The runs table without filters, chosen columns and groups."""

    head: ExperimentHead
    hypothesis: str
    forks: list[Link]
    rows: list[RunRow]
    pager: Pager
    heads: dict[str, ColumnHead] = field(default_factory=plain_heads)
    columns: list[ColumnHead] = field(default_factory=list)
    cells: list[list[str]] = field(default_factory=list)
    groups: list[GroupRow] = field(default_factory=list)
    asked: Asked = field(default_factory=Asked)
    problem: str = ""
    can_select: bool = False


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """A key that differs, with both values as text; None: that side has no such key."""

    key: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class VersionRow:
    """A config version in one line, with what it changed of the one before."""

    number: int
    url: str
    edit_url: str
    """The editor with this version in it."""
    fork_url: str
    diff_url: str
    """The comparison with the version before it; empty for the first."""
    changes: list[ChangeRow]
    more_count: int
    """How many changes are not named here."""
    run_count: int
    digest: str
    created_by: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class VersionsPage:
    """The versions, newest first, and the two to compare."""

    head: ExperimentHead
    rows: list[VersionRow]
    pager: Pager
    newest: int
    """Of the experiment; 0 if there is none."""


@dataclass(frozen=True, slots=True)
class VersionPage:
    """One version with all its values."""

    head: ExperimentHead
    version: VersionRow
    recipe: str
    recipe_changes: list[ChangeRow]
    """Where it differs from the recipe as that is now."""
    knows_recipe: bool
    yaml: str
    """What it was typed as, with comments; empty if it was not."""
    earlier: int
    """The version to compare it with unless one says another; 0 if there is none."""
    groups: list[ConfigGroup]


@dataclass(frozen=True, slots=True)
class DiffPage:
    """Where two versions differ."""

    head: ExperimentHead
    before: int
    after: int
    newest: int
    swap_url: str
    changes: list[ChangeRow]
    words: list[str]
    """Lines that differ of what they were typed as, as `diff -u` shows them."""


@dataclass(frozen=True, slots=True)
class EditPage:
    """The form of name, hypothesis and tags. `problems` are (field id, message)."""

    head: ExperimentHead
    fields: list[FormField]
    problems: list[tuple[str, str]]
    revision: int
    """Of the experiment that the form was filled from."""
    newer: list[ChangeRow]
    """What somebody else saved meanwhile, where that differs from what was typed."""


@dataclass(frozen=True, slots=True)
class ForkPage:
    """The form of a fork."""

    head: ExperimentHead
    fields: list[FormField]
    problems: list[tuple[str, str]]
