"""What the table of runs shows: links that change one thing and keep the rest."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from urllib.parse import urlencode

from app.models import RunStatus, SavedView
from app.runs.filter_language import quoted
from app.runs.listing import NEWEST
from app.runs.sorting import Sort
from app.runs.states import ENDED
from app.runs.table import GROUPS, Aggregate, Cell, Group, Names
from app.runs.table_contexts import (
    ColumnHead,
    ColumnPicker,
    GroupRow,
    NameLink,
    StatusChip,
    ViewLink,
)

PINNED = "pinned"
ARCHIVED = "archived"
_ACTIVE = "active"
_CHIPS = (
    ("All", "", ()),
    ("Active", _ACTIVE, tuple(status for status in RunStatus if status not in ENDED)),
    ("Succeeded", "succeeded", (RunStatus.SUCCEEDED,)),
    ("Failed", "failed", (RunStatus.FAILED, RunStatus.LOST)),
    ("Stopped", "stopped", (RunStatus.STOPPED,)),
    ("Pinned", PINNED, ()),
    ("Archived", ARCHIVED, ()),
)
STATUSES = {value: statuses for _, value, statuses in _CHIPS}
_SORTED = {
    "run": "name",
    "status": "status",
    "rate": "metric:skydeck/eval/solve_rate:best",
    "step": "step",
    "who": "owner",
    "started": "started_at",
}
# A table asks for itself again every few seconds.
_ASKED_KEPT = 256
_OFFERED = ("last", "best")


@dataclass(frozen=True, slots=True)
class Asked:
    """What the address of the table asks for."""

    project: str = ""
    words: str = ""
    status: str = ""
    sweep: str = ""
    """A sweep's slug."""
    filter: str = ""
    sort: str = ""
    columns: tuple[str, ...] = ()
    group: str = ""

    @property
    def order(self) -> str:
        return self.sort or NEWEST

    @property
    def is_narrowed(self) -> bool:
        return bool(self.words or self.status or self.sweep or self.filter)

    def query(self) -> list[tuple[str, str]]:
        """As the page's address says it, without what is not asked for."""
        pairs = [
            ("project", self.project),
            ("q", self.words),
            ("status", self.status),
            ("sweep", self.sweep),
            ("filter", self.filter),
            ("sort", self.sort),
            *(("column", column) for column in self.columns),
            ("group", self.group),
        ]
        return [(name, value) for name, value in pairs if value]

    @property
    def query_string(self) -> str:
        return urlencode(self.query())

    def url(self, path: str = "/runs") -> str:
        text = self.query_string
        return f"{path}?{text}" if text else path


@lru_cache(maxsize=_ASKED_KEPT)
def chips(asked: Asked) -> list[StatusChip]:
    return [
        StatusChip(title, replace(asked, status=value).url(), is_current=asked.status == value)
        for title, value, _ in _CHIPS
    ]


def without_sweep(asked: Asked) -> str:
    """The table of runs of any sweep and of none."""
    return replace(asked, sweep="").url()


@lru_cache(maxsize=_ASKED_KEPT)
def heads(asked: Asked) -> dict[str, ColumnHead]:
    """The fixed columns that can be sorted, by name."""
    return {name: _head(asked, sort, name, "") for name, sort in _SORTED.items()}


def plain_heads() -> dict[str, ColumnHead]:
    """The same where the table is always in one order."""
    return {name: ColumnHead(name, "", "", "") for name in _SORTED}


def columns_of(asked: Asked, columns: Sequence[Sort]) -> list[ColumnHead]:
    """The chosen columns, each with the link that takes it away."""
    return [
        _head(asked, str(column), _title(column), _without(asked, str(column)))
        for column in columns
    ]


def groups_of(asked: Asked, groups: Sequence[Group], columns: Sequence[Sort]) -> list[GroupRow]:
    return [
        GroupRow(
            value=_group_words(asked, group.value),
            count=group.count,
            url=_narrowed(asked, group),
            cells=[_aggregate(each) for each in group.aggregates[: len(columns)]],
        )
        for group in groups
    ]


@lru_cache(maxsize=_ASKED_KEPT)
def group_names(asked: Asked) -> list[StatusChip]:
    """What can be grouped by: fixed fields, and the config keys among the columns."""
    configs = [column for column in asked.columns if column.startswith("config:")]
    if asked.group and asked.group not in (*GROUPS, *configs):
        configs.append(asked.group)
    names = [("No groups", ""), *((name.capitalize(), name) for name in GROUPS)]
    names += [(name.partition(":")[2], name) for name in configs]
    return [
        StatusChip(title, replace(asked, group=name).url(), is_current=asked.group == name)
        for title, name in names
    ]


def view_link(view: SavedView, asked: Asked) -> ViewLink:
    url = "/runs" + (f"?{view.query}" if view.query else "")
    is_current = view.query == asked.query_string
    return ViewLink(view.name, url, f"/runs/views/{view.slug}/delete", is_current)


def picker(asked: Asked, names: Names, words: str) -> ColumnPicker:
    metrics = [
        NameLink(name, [_toggle(asked, f"metric:{name}:{each}", each) for each in _OFFERED])
        for name in names.metrics
    ]
    configs = [NameLink(name, [_toggle(asked, f"config:{name}", "show")]) for name in names.configs]
    return ColumnPicker(
        words=words,
        query=asked.query(),
        metrics=metrics,
        configs=configs,
        has_more=names.has_more,
        back_url=asked.url(),
    )


def words_of(rows: Sequence[Sequence[Cell]]) -> list[list[str]]:
    return [[words(cell) for cell in row] for row in rows]


def words(value: Cell) -> str:
    """A cell as it is read: five digits of a number."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else f"{value:.5g}"


def _head(asked: Asked, sort: str, title: str, remove_url: str) -> ColumnHead:
    """A click sorts downwards first, then upwards."""
    is_down, is_up = asked.order == f"-{sort}", asked.order == sort
    link = replace(asked, sort=sort if is_down else f"-{sort}").url()
    return ColumnHead(
        title, link, "descending" if is_down else "ascending" if is_up else "", remove_url
    )


def _title(column: Sort) -> str:
    return f"{column.name} · {column.statistic}" if column.statistic else column.name


def _without(asked: Asked, column: str) -> str:
    columns = tuple(each for each in asked.columns if each != column)
    return replace(asked, columns=columns).url()


def _toggle(asked: Asked, column: str, title: str) -> StatusChip:
    if column in asked.columns:
        return StatusChip(title, _without(asked, column), is_current=True)
    return StatusChip(title, replace(asked, columns=(*asked.columns, column)).url(), False)


def _narrowed(asked: Asked, group: Group) -> str:
    """The runs of a group alone; empty where no filter says them."""
    if group.value is None:
        return ""
    is_config = asked.group.startswith("config:")
    field = f"config({quoted(asked.group.partition(':')[2])})" if is_config else asked.group
    text = str(group.value)
    value = text if is_config and _is_number(text) else quoted(text)
    if asked.group == "project":
        return ""
    filters = [f"({asked.filter})"] if asked.filter else []
    return replace(asked, filter=" and ".join([*filters, f"{field} = {value}"]), group="").url()


def _group_words(asked: Asked, value: Cell) -> str:
    """Numbers of configs come as text, with a point."""
    is_number = asked.group.startswith("config:") and isinstance(value, str) and _is_number(value)
    return words(float(value) if is_number and value is not None else value) or "none"


def _is_number(text: str) -> bool:
    try:
        return float(text) == float(text)
    except ValueError:
        return False


def _aggregate(each: Aggregate) -> str:
    if not each.n:
        return ""
    spread = f" [{words(each.least)}–{words(each.most)}]" if each.n > 1 else ""
    return f"{words(each.mean)}{spread} · n {each.n}"
