"""Which denied requests are written down: rows of the audit log stay for ever.

Counted in each process for itself, in tables that do not grow.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
REPEAT_SECONDS = 3600
MINUTE_SECONDS = 60
ROWS_A_MINUTE = 60
_MOST_REQUESTS = 10_000
_MOST_ACTORS = 1_000


class Noted(Enum):
    """Whether a denied request gets a row, and whether that is the last one for now."""

    YES = auto()
    LAST = auto()
    NO = auto()


@dataclass(slots=True)
class _Minute:
    start: float
    rows: int = 0


class DenialLimit:
    """The same request of an actor once an hour; of all theirs 60 rows a minute and a last one."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._noted: OrderedDict[Hashable, float] = OrderedDict()
        self._minutes: OrderedDict[str, _Minute] = OrderedDict()

    def take(self, actor: str, request: Hashable) -> Noted:
        """What to do with a denied `request`; `actor` is the stable key of who made it."""
        now, key = self._clock(), (actor, request)
        noted_at = self._noted.get(key)
        if noted_at is not None and now < noted_at + REPEAT_SECONDS:
            return Noted.NO
        minute = self._minute(actor, now)
        minute.rows += 1
        if minute.rows > ROWS_A_MINUTE:
            return Noted.LAST if minute.rows == ROWS_A_MINUTE + 1 else Noted.NO
        _put(self._noted, key, now, _MOST_REQUESTS)
        return Noted.YES

    def _minute(self, actor: str, now: float) -> _Minute:
        minute = self._minutes.get(actor)
        if minute is None or now >= minute.start + MINUTE_SECONDS:
            minute = _Minute(now)
            _put(self._minutes, actor, minute, _MOST_ACTORS)
        return minute


def _put(table: "OrderedDict[K, V]", key: K, value: V, most: int) -> None:
    """Sets a value; of a full table the one that was set first goes."""
    table[key] = value
    table.move_to_end(key)
    if len(table) > most:
        table.popitem(last=False)
