"""A stored log line as pages show it: colours as class names, training steps marked."""

import re

from app.logs import ansi
from app.logs.chunks import LogLine as StoredLine
from app.runs.contexts import LogLine

_STEP = re.compile(r"- Step \d+: ?$")


def show(line: StoredLine, *, url: str = "") -> LogLine:
    """`url` is the page on which the line stands, if it is not this one."""
    pieces = ansi.segments(line.text)
    is_step = bool(_STEP.search("".join(text for _, text in pieces)))
    return LogLine(line.number, pieces, is_step, f"{url}#L{line.number}")
