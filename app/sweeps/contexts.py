"""What the pages about sweeps are given."""

from dataclasses import dataclass
from datetime import datetime

from app.experiments.contexts import ExperimentHead, Link
from app.web.forms import FormField
from app.web.paging import Pager
from app.web.run_table import RunRow


@dataclass(frozen=True, slots=True)
class SweepRow:
    """A sweep in one line. `counts` are (status, number of runs)."""

    slug: str
    name: str
    kind: str
    version: int | None
    keys: list[str]
    run_count: int
    counts: list[tuple[str, int]]
    owner: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class SweepsPage:
    """The sweeps of an experiment, newest first."""

    head: ExperimentHead
    rows: list[SweepRow]
    pager: Pager


@dataclass(frozen=True, slots=True)
class Choice:
    """A way to make a sweep, to choose in its form."""

    value: str
    title: str
    about: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class KeyFields:
    """The three controls of a row of the form, numbered from 1 for people."""

    number: int
    key: FormField
    how: FormField
    values: FormField


@dataclass(frozen=True, slots=True)
class PreviewError:
    """Why a config is refused, by which rule, and where to correct it."""

    rule: str
    message: str
    links: list[Link]


@dataclass(frozen=True, slots=True)
class PreviewRow:
    """A run that would be made; `cells` are its values of the keys that differ.

    `gpus` is None where its values do not tell how many it asks for.
    """

    number: int
    name: str
    cells: list[str]
    gpus: int | None
    is_too_large: bool
    errors: list[PreviewError]
    warnings: list[str]
    is_excluded: bool


@dataclass(frozen=True, slots=True)
class Preview:
    """All runs that would be made. `note` says what the numbers mean where that is not plain."""

    keys: list[tuple[str, str]]
    """(short name, key) of each column."""
    rows: list[PreviewRow]
    total: int
    run_count: int
    error_count: int
    digest: str
    """What it is of; a launch says it again."""
    cluster: str
    """What the chosen cluster has, and what the sweep asks of it at a time."""
    note: str
    can_launch: bool


@dataclass(frozen=True, slots=True)
class SweepFormPage:
    """The form of a sweep. `problems` are (field id or empty, message)."""

    head: ExperimentHead
    version: int
    recipe: str
    kinds: list[Choice]
    rows: list[KeyFields]
    known_keys: list[tuple[str, str]]
    """(key, label) that a browser completes."""
    configs: FormField
    draw_fields: list[FormField]
    fields: list[FormField]
    problems: list[tuple[str, str]]
    preview: Preview | None


@dataclass(frozen=True, slots=True)
class SweepRunRow:
    """A run of the sweep with its values of the keys that differ."""

    number: int
    run: RunRow
    cells: list[str]
    is_best: bool


@dataclass(frozen=True, slots=True)
class SweepPage:
    """A sweep with all its runs."""

    row: SweepRow
    experiment_slug: str
    experiment_name: str
    project_slug: str
    project_name: str
    max_running_runs: int
    keys: list[tuple[str, str]]
    """(short name, key) of each column."""
    rows: list[SweepRunRow]
    orders: list[Link]
    live_url: str
    can_stop: bool
    can_resume: bool


@dataclass(frozen=True, slots=True)
class StopPage:
    """Asks once before all runs of a sweep are stopped."""

    row: SweepRow
    under_way_count: int
