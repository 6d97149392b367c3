"""Counts the statements that a piece of code sends: cost must not grow with the rows."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field

from sqlalchemy import event

from app.db import Database


@dataclass(slots=True)
class Counted:
    """The statements sent, without BEGIN and the like; many rows in one call count once."""

    statements: list[str] = field(default_factory=list)

    @property
    def count(self) -> int:
        return len(self.statements)


QueryCounter = Callable[[Database], AbstractContextManager[Counted]]


@contextmanager
def counting(database: Database) -> Iterator[Counted]:
    counted = Counted()

    def note(_connection: object, _cursor: object, statement: str, *_rest: object) -> None:
        if not statement.startswith(("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE")):
            counted.statements.append(statement)

    event.listen(database.engine.sync_engine, "before_cursor_execute", note)
    try:
        yield counted
    finally:
        event.remove(database.engine.sync_engine, "before_cursor_execute", note)
