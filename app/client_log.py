"""Metrics logged from a training loop: gathered, and sent from a thread of their own.

`log` returns in microseconds. What was logged is stored by the service within a second, in one
request for everything since the last one. While the service does not answer it is kept and sent
again; a point that was sent twice is stored once, since the last one at a step counts.
"""

import atexit
import math
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import orjson

from app.clock import utcnow
from app.errors import SkydeckError, Unavailable

SEND_SECONDS = 0.5
MAX_KEY = 500
"""Longest key of a metric, in characters."""
MAX_WAITING = 1_000_000
"""Most values that are kept while the service does not answer; then the oldest are dropped."""
_VALUES_A_REQUEST = 50_000
_BYTES_A_REQUEST = 3_500_000
_RESERVED = ("step", "time")
_LONGEST_PAUSE = 15.0
_LAST_SECONDS = 10.0

Row = tuple[str, int, float, dict[str, Any]]
Send = Callable[[str, bytes], object]


class MetricLog:
    """Rows of values on their way to the service. `send` pushes NDJSON lines of one run."""

    def __init__(self, send: Send, *, every: float = SEND_SECONDS) -> None:
        self._send = send
        self._every = every
        self._changed = threading.Condition()
        self._rows: list[Row] = []
        self._waiting = 0
        self._steps: dict[str, int] = {}
        self._error: SkydeckError | None = None
        self._dropped = 0
        self._is_sending = False
        self._is_urgent = False
        self._is_closed = False
        self._thread: threading.Thread | None = None

    def add(
        self,
        run_id: str,
        values: Mapping[str, float],
        *,
        step: int | None = None,
        time: float | None = None,
    ) -> None:
        """Takes a row. Without a `step` it is the run's next one, from 0.

        Raises `ValueError` for what is no number or no key, and the error of an earlier row that
        the service refused.
        """
        row = {_key(key): _number(value) for key, value in values.items()}
        at = utcnow().timestamp() if time is None else time
        with self._changed:
            self._raise_error()
            if self._is_closed:
                raise ValueError("this client is closed")
            step = self._steps.get(run_id, -1) + 1 if step is None else step
            self._steps[run_id] = step
            self._rows.append((run_id, step, at, row))
            self._waiting += len(row)
            if self._thread is None:
                self._start()
            if self._waiting >= _VALUES_A_REQUEST and not self._is_urgent:
                self._is_urgent = True
                self._changed.notify_all()
            if self._waiting > MAX_WAITING:
                self._drop()

    def flush(self, timeout: float | None = None) -> None:
        """Returns when all that was logged is stored.

        Raises `Unavailable` after `timeout` seconds; what was logged is still kept and sent. Raises
        the error of a row that the service refused.
        """
        with self._changed:
            self._is_urgent = True
            self._changed.notify_all()
            if not self._changed.wait_for(self._is_idle, timeout):
                raise Unavailable(
                    f"{self._waiting:,} logged values are not stored yet: the service does not "
                    "answer; they are kept and sent again"
                )
            self._raise_error()

    def close(self, timeout: float = _LAST_SECONDS) -> None:
        """Sends what is left and ends the thread. Raises as `flush` does."""
        if self._thread is None:
            return
        try:
            self.flush(timeout)
        finally:
            atexit.unregister(self._at_exit)
            with self._changed:
                self._is_closed = True
                self._changed.notify_all()
            self._thread.join(timeout)

    def forget(self) -> None:
        """For a forked process: what was logged is its parent's to send, at exit too."""
        atexit.unregister(self._at_exit)

    def _is_idle(self) -> bool:
        return self._error is not None or (not self._rows and not self._is_sending)

    def _raise_error(self) -> None:
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    def _start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="skydeck-log", daemon=True)
        self._thread.start()
        atexit.register(self._at_exit)

    def _at_exit(self) -> None:
        try:
            self.close()
        except SkydeckError as error:
            warnings.warn(f"the last metrics were not stored: {error}", stacklevel=1)

    def _drop(self) -> None:
        """Makes room by a tenth, so that this is rare."""
        count = 0
        while self._waiting > MAX_WAITING * 0.9 and count < len(self._rows) - 1:
            lost = len(self._rows[count][3])
            self._waiting, self._dropped, count = (
                self._waiting - lost,
                self._dropped + lost,
                count + 1,
            )
        del self._rows[:count]
        message = f"the service does not answer: {self._dropped:,} of the oldest values are lost"
        warnings.warn(message, stacklevel=3)

    def _run(self) -> None:
        pause = self._every
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._is_urgent or self._is_closed, pause)
                if self._is_closed:
                    return
                rows, self._rows = self._rows, []
                self._is_sending, self._is_urgent = bool(rows), False
            left = self._deliver(rows)
            pause = min(2 * pause, _LONGEST_PAUSE) if left else self._every
            with self._changed:
                self._rows[:0] = left
                self._waiting = sum(len(row[3]) for row in self._rows)
                self._is_sending = False
                self._changed.notify_all()

    def _deliver(self, rows: list[Row]) -> list[Row]:
        """Sends rows; returns those that the service did not answer to."""
        for start, run_id, body in requests_of(rows):
            try:
                self._send(run_id, body)
            except Unavailable:
                return rows[start:]
            except SkydeckError as error:
                with self._changed:
                    self._error = error
        return []


def requests_of(rows: list[Row]) -> Iterator[tuple[int, str, bytes]]:
    """(first row, run, body) of requests, each of rows of one run that follow each other."""
    start = 0
    while start < len(rows):
        run_id, lines, values, size, end = rows[start][0], list[bytes](), 0, 0, start
        while end < len(rows) and rows[end][0] == run_id:
            line = _line(rows[end])
            size, values = size + len(line) + 1, values + len(rows[end][3])
            if lines and (size > _BYTES_A_REQUEST or values > _VALUES_A_REQUEST):
                break
            lines.append(line)
            end += 1
        yield start, run_id, b"\n".join(lines)
        start = end


def _line(row: Row) -> bytes:
    _, step, at, values = row
    if any(name in values for name in _RESERVED):
        points = [{"key": k, "step": step, "time": at, "value": v} for k, v in values.items()]
        return b"\n".join(map(orjson.dumps, points))
    return orjson.dumps({"step": step, "time": at, **values})


def _key(key: object) -> str:
    if not isinstance(key, str) or not 0 < len(key) <= MAX_KEY:
        raise ValueError(f"{key!r:.60} is no key: give text of 1 to {MAX_KEY} characters")
    return key


def _number(value: Any) -> Any:
    """As JSON says it: what is not finite as text. Takes whatever is a number of one element."""
    if type(value) is int:
        return value
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{value!r:.60} is no number") from None
    if math.isfinite(number):
        return number
    return "NaN" if number != number else ("Infinity" if number > 0 else "-Infinity")
