"""The audit log as a file: CSV for spreadsheets, JSON lines for programs."""

import csv
import io
import json
from collections.abc import AsyncIterable, AsyncIterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from app.audit.service import Row
from app.csv_cells import cell

COLUMNS = (
    "at",
    "actor",
    "actor_key",
    "address",
    "request_id",
    "action",
    "outcome",
    "object_kind",
    "object",
    "project",
    "before_digest",
    "after_digest",
    "details",
)


class Format(StrEnum):
    CSV = "csv"
    JSONL = "jsonl"

    @property
    def media_type(self) -> str:
        return {Format.CSV: "text/csv", Format.JSONL: "application/x-ndjson"}[self]


@dataclass(frozen=True, slots=True)
class Writer:
    """Turns batches of rows into text, one batch at a time."""

    format: Format

    async def write(self, batches: AsyncIterable[Sequence[Row]]) -> AsyncIterator[str]:
        """The file in pieces; a CSV begins with its titles, even where no row fits."""
        if self.format is Format.CSV:
            yield _csv([COLUMNS])
        async for rows in batches:
            yield self._text([fields(row) for row in rows])

    def _text(self, rows: Sequence[dict[str, Any]]) -> str:
        if self.format is Format.JSONL:
            return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        return _csv([[_cell(row[name]) for name in COLUMNS] for row in rows])


def fields(row: Row) -> dict[str, Any]:
    """One entry as plain values; `at` is RFC 3339 in UTC with all its digits."""
    entry, project = row
    return {
        "at": entry.at.isoformat(timespec="microseconds").replace("+00:00", "Z"),
        "actor": entry.actor,
        "actor_key": entry.actor_key,
        "address": entry.address,
        "request_id": entry.request_id,
        "action": entry.action,
        "outcome": entry.outcome.value,
        "object_kind": entry.object_kind,
        "object": entry.object_slug,
        "project": project,
        "before_digest": entry.before_digest,
        "after_digest": entry.after_digest,
        "details": entry.details,
    }


def _csv(rows: Sequence[Sequence[str]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue()


def _cell(value: Any) -> str:
    if isinstance(value, dict):
        value = json.dumps(value, ensure_ascii=False) if value else ""
    return cell("" if value is None else str(value))
