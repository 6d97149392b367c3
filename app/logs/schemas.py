"""JSON shapes of logs."""

from app.api.schemas import Answer
from app.logs.service import LogPage


class LineAnswer(Answer):
    """`n` counts from 1; `text` keeps its colours (ANSI)."""

    n: int
    text: str


class LogAnswer(Answer):
    """`complete` says that the log will not grow any more."""

    lines: list[LineAnswer]
    total_lines: int
    complete: bool

    @classmethod
    def of(cls, page: LogPage) -> "LogAnswer":
        return cls(
            lines=[LineAnswer(n=line.number, text=line.text) for line in page.lines],
            total_lines=page.total_lines,
            complete=page.is_complete,
        )
