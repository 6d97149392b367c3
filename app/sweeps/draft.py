"""What stands in the form of a sweep: texts as typed, and the sweep that they mean. No database."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from starlette.datastructures import FormData

from app.errors import Problem
from app.recipes.model import Recipe, Value
from app.recipes.numbers import find_whole_number
from app.sweeps import expansion, texts
from app.sweeps.expansion import Choice, Draw, Explicit, Grid, Random, Space
from app.sweeps.service import MAX_RUNNING, Request
from app.sweeps.texts import VALUES, WHOLE, Unread
from app.web.forms import typed_values

GRID, RANDOM, EXPLICIT = "grid", "random", "explicit"
CONFIGS, COUNT, SEED, NAME, LIMIT = "configs", "count", "seed", "name", "max_running_runs"
CLUSTER, PREVIEWED = "cluster", "previewed"
_TYPED = (CONFIGS, COUNT, SEED, NAME, LIMIT, CLUSTER, PREVIEWED)
LEAST_ROWS, SPARE_ROWS, MOST_ROWS = 3, 1, 20
_DEFAULTS = {COUNT: "10", SEED: "0", LIMIT: "4"}


@dataclass(frozen=True, slots=True)
class KeyRow:
    """A key, how it varies, and the values or ends as typed."""

    key: str = ""
    how: str = VALUES
    values: str = ""

    @property
    def is_blank(self) -> bool:
        return not self.key.strip() and not self.values.strip()


@dataclass(frozen=True, slots=True)
class Draft:
    """`typed` are the other fields, by name; `exclude` are numbers of runs."""

    kind: str = GRID
    rows: tuple[KeyRow, ...] = ()
    typed: Mapping[str, str] = field(default_factory=lambda: dict(_DEFAULTS))
    exclude: frozenset[int] = frozenset()

    @property
    def shown_rows(self) -> tuple[KeyRow, ...]:
        """With blank ones to type into."""
        blank = max(SPARE_ROWS, LEAST_ROWS - len(self.rows))
        return (self.rows + (KeyRow(),) * blank)[:MOST_ROWS]

    def text(self, name: str) -> str:
        return self.typed.get(name, "")

    def previewed(self, digest: str) -> "Draft":
        """The same as it is shown with its configs; numbers of other ones are left in again."""
        exclude = self.exclude if self.text(PREVIEWED) in ("", digest) else frozenset()
        return replace(self, exclude=exclude, typed={**self.typed, PREVIEWED: digest})

    def masked(self, mask: Callable[[str], str]) -> "Draft":
        rows = tuple(KeyRow(mask(r.key), r.how, mask(r.values)) for r in self.rows)
        return replace(self, rows=rows, typed={n: mask(t) for n, t in self.typed.items()})


def read_form(form: FormData) -> Draft:
    """What was typed; nothing is lost, and nothing is checked yet."""
    typed = typed_values(form)
    rows = [_row(typed, n) for n in range(MOST_ROWS)]
    excluded = (find_whole_number(str(value)) for value in form.getlist("exclude"))
    kind = typed.get("kind", GRID)
    return Draft(
        kind=kind if kind in (GRID, RANDOM, EXPLICIT) else GRID,
        rows=tuple(row for row in rows if not row.is_blank),
        typed=_DEFAULTS | {name: typed[name] for name in _TYPED if name in typed},
        exclude=frozenset(number for number in excluded if number is not None),
    )


def preview_digest(space: Space, version: int | None, cluster: str) -> str:
    """What a preview was of: numbers that are left out mean its configs and no others."""
    said = json.dumps([expansion.as_json(space), version, cluster], sort_keys=True)
    return hashlib.sha256(said.encode()).hexdigest()[:16]


def request_of(draft: Draft, recipe: Recipe) -> tuple[Request | None, list[Problem]]:
    """What the form asks for; None with problems by field, where a row is blamed by its key."""
    problems: list[Problem] = []
    space = _space(draft, recipe, problems)
    limit = _whole(draft, LIMIT, problems)
    if not problems and not 1 <= limit <= MAX_RUNNING:
        message = f"a sweep runs 1 to {MAX_RUNNING} of its runs at a time"
        problems.append(Problem(LIMIT, "range", message))
    if space is None or problems:
        return None, problems
    name = draft.text(NAME).strip() or None
    made = Request(space=space, exclude=draft.exclude, name=name, max_running_runs=limit)
    return made, []


def _row(typed: Mapping[str, str], n: int) -> KeyRow:
    key, values = typed.get(f"key-{n}", ""), typed.get(f"values-{n}", "")
    return KeyRow(key, typed.get(f"how-{n}", VALUES), values)


def _space(draft: Draft, recipe: Recipe, problems: list[Problem]) -> Space | None:
    try:
        if draft.kind == EXPLICIT:
            return Explicit(texts.read_points(recipe, draft.text(CONFIGS), CONFIGS))
        _refuse_repeats(draft)
        if draft.kind == GRID:
            return Grid({row.key.strip(): _axis(recipe, row) for row in draft.rows})
        draws = {row.key.strip(): _draw(recipe, row) for row in draft.rows}
        return Random(draws, _whole(draft, COUNT, problems), _whole(draft, SEED, problems))
    except Unread as error:
        problems.append(error.problem)
        return None


def _refuse_repeats(draft: Draft) -> None:
    keys = [row.key.strip() for row in draft.rows]
    for key in keys:
        if not key:
            raise Unread("keys", "a row has values and no key")
        if keys.count(key) > 1:
            raise Unread(key, f"{key} stands in two rows")


def _axis(recipe: Recipe, row: KeyRow) -> tuple[Value, ...]:
    key = row.key.strip()
    if row.how == WHOLE:
        return texts.whole_numbers(key, row.values)
    if row.how != VALUES:
        raise Unread(key, f"{key}: a grid needs values; a range is for a random sweep")
    return texts.read_values(recipe, key, row.values)


def _draw(recipe: Recipe, row: KeyRow) -> Draw:
    key = row.key.strip()
    if row.how == VALUES:
        return Choice(texts.read_values(recipe, key, row.values))
    return texts.read_draw(key, row.how, row.values)


def _whole(draft: Draft, name: str, problems: list[Problem]) -> int:
    found = find_whole_number(draft.text(name).strip())
    if found is None:
        problems.append(Problem(name, "number", "this is a whole number"))
    return found or 0
