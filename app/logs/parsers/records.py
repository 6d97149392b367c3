"""Recognises one loguru record, as SkyRL's trainer prints it, in a segment of a log.

Format (SkyRL `configure_ray_worker_logging`, and loguru's own default before that):
`YYYY-MM-DD HH:mm:ss.SSS | LEVEL    | module:function:line - message`, with or without colours.
"""

import re
from dataclasses import dataclass
from datetime import datetime, tzinfo

ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")

_TIME = rb"(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3})"
_SGR = rb"\x1b\[[0-9;]*m"
# May follow a progress bar on the same line. A model cannot print the escape bytes, so its text
# never looks like this.
_COLOURED = re.compile(
    rb"\x1b\[32m" + _TIME + rb"\x1b\[0m \| (?:" + _SGR + rb"){1,4}[A-Z]{1,16} *\x1b\[0m \| "
    rb"\x1b\[36m(?P<module>[\w.]+)\x1b\[0m:\x1b\[36m(?P<function>[\w<>]+)\x1b\[0m:"
    rb"\x1b\[36m\d+\x1b\[0m - (?P<message>.*)",
    re.DOTALL,
)
# Only at the start or straight after a progress bar: anything else is quoted text.
_PLAIN = re.compile(
    rb"(?:[^|\x1b]{0,200}\d%\|[^\x1b]{0,400}\])?(?:\x1b\[A)*"
    + _TIME
    + rb" \| [A-Z]{1,16} *\| (?P<module>[\w.]+):(?P<function>[\w<>]+):\d+ - (?P<message>.*)",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Record:
    """One log record; `message` is its first line, without colours."""

    time: str
    module: str
    function: str
    message: str
    is_coloured: bool


def find_record(body: bytes, *, coloured_only: bool) -> Record | None:
    """The record in a segment, if any.

    `coloured_only`: once the trainer's coloured logging is set up, a plain record in the stream is
    text that somebody printed, such as a model's answer.
    """
    if b" - " not in body:
        return None
    match = _COLOURED.search(body)
    is_coloured = match is not None
    if match is None and not coloured_only:
        match = _PLAIN.match(body)
    if match is None:
        return None
    time, module, function, message = match.group("time", "module", "function", "message")
    return Record(
        time=time.decode(),
        module=module.decode("utf-8", "replace"),
        function=function.decode("utf-8", "replace"),
        message=text_of(message),
        is_coloured=is_coloured,
    )


def text_of(data: bytes) -> str:
    """Text without colours and NUL, which databases refuse; invalid UTF-8 is replaced."""
    return ANSI.sub("", data.decode("utf-8", "replace")).replace("\0", "")


def storable(text: str) -> str:
    """Text without NUL and lone surrogates, which databases refuse."""
    return text.encode("utf-8", "replace").decode().replace("\0", "")


def parse_time(text: str, zone: tzinfo) -> datetime | None:
    """A record's time in `zone` (a log names none), or None where it is no date."""
    try:
        return datetime.fromisoformat(text).replace(tzinfo=zone)
    except ValueError:
        return None
