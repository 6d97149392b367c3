"""JSON shapes of logs."""

from app.api.schemas import Answer
from app.logs.service import LogPage


class LineAnswer(Answer):
    """`n` counts from 1; `text` keeps its colours (ANSI)."""

    n: int
    text: str


class LogAnswer(Answer):
    """`complete` says that the log will not grow any more.

    `next_line` is the `from_line` of the next page; null when the end was reached. A search may
    stop early and then has it with few lines or none: go on from there.
    """

    lines: list[LineAnswer]
    total_lines: int
    complete: bool
    next_line: int | None

    @classmethod
    def of(cls, page: LogPage) -> "LogAnswer":
        return cls(
            lines=[LineAnswer(n=line.number, text=line.text) for line in page.lines],
            total_lines=page.total_lines,
            complete=page.is_complete,
            next_line=page.next_line,
        )
