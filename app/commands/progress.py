"""How far that is which a command waits for: on stderr, so that stdout is the answer alone."""

import shutil
import sys
from types import TracebackType
from typing import Any, Self, TextIO

Json = dict[str, Any]
_CLEAR_TO_END = "\x1b[K"


class Progress:
    """One line that is written over on a terminal; elsewhere a line for each change.

    `goes_on` is what is said to whoever no longer waits: the server works on.
    """

    def __init__(self, *, goes_on: str, out: TextIO | None = None) -> None:
        self._out = sys.stderr if out is None else out
        self._is_terminal = self._out.isatty()
        self._goes_on = goes_on
        self._shown = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        if self._shown and self._is_terminal:
            self._write("\n")
        if kind is KeyboardInterrupt:
            self._write(self._goes_on + "\n")

    def tell(self, line: str) -> None:
        line = " ".join(line.split())
        if line == self._shown:
            return
        self._shown = line
        if self._is_terminal:
            # A longer line would wrap, and its first part could not be written over.
            width = max(shutil.get_terminal_size().columns - 1, 1)
            self._write(f"\r{line[:width]}{_CLEAR_TO_END}")
        else:
            self._write(line + "\n")

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()


def evaluation_line(found: Json) -> str:
    """`evl-7fk2m9qd running: 12 of 64 episodes`, and what it waits for."""
    played = found["progress"]
    count = f"{played['played']} of {played['total']} episodes"
    waits = [each["message"] for each in found["conditions"]]
    return "; ".join([f"{found['id']} {found['status']}: {count}", *waits])


def promotion_line(found: Json) -> str:
    """`prm-7fk2m9qd running: 40 % copied`, and what its last try met."""
    line = f"{found['id']} {found['status']}: {found['progress']['fraction']:.0%} copied"
    is_tried_again = found["error"] and found["status"] not in ("succeeded", "failed")
    return f"{line}; {found['error']['message']}" if is_tried_again else line
