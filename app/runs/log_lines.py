"""A stored log line as pages show it: colours as class names, training steps marked."""

import re
from typing import Annotated

from fastapi import Query

from app.logs import ansi
from app.logs.chunks import LogLine as StoredLine
from app.runs.contexts import LogLine

AttemptNumber = Annotated[int | None, Query(ge=1, le=1_000_000)]
LineNumber = Annotated[int | None, Query(alias="from", ge=1, le=2**62)]
"""How addresses name an attempt and a line; larger numbers fit no database."""
_STEP = re.compile(r"- Step \d+: ?$")


def show(line: StoredLine, *, url: str = "") -> LogLine:
    """`url` is the page on which the line stands, if it is not this one."""
    pieces = ansi.segments(line.text)
    is_step = bool(_STEP.search("".join(text for _, text in pieces)))
    return LogLine(line.number, pieces, is_step, f"{url}#L{line.number}")
