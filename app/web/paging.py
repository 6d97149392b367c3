"""Links from one page of a list to the next, by cursor."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlencode

from fastapi import Query

Cursor = Annotated[str | None, Query(max_length=2_000)]
"""Where a list goes on."""


@dataclass(frozen=True, slots=True)
class Pager:
    """Where a list goes on. `first` is None on the first page, `following` None on the last."""

    first: str | None
    following: str | None


Asked = Mapping[str, str] | Iterable[tuple[str, str]]


def pager(path: str, query: Asked, *, cursor: str | None, next_cursor: str | None) -> Pager:
    """The links of a list at `path` whose filter is `query` (without its cursor)."""
    pairs = query.items() if isinstance(query, Mapping) else query
    kept = [(name, value) for name, value in pairs if value and name != "cursor"]
    return Pager(
        first=_url(path, kept) if cursor else None,
        following=_url(path, [*kept, ("cursor", next_cursor)]) if next_cursor else None,
    )


def _url(path: str, query: list[tuple[str, str]]) -> str:
    return f"{path}?{urlencode(query)}" if query else path
