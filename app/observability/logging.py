"""Log lines of the service: text for people or JSON for machines, always on stderr."""

import io
import logging
import sys
import threading
from types import TracebackType
from typing import TextIO

import structlog
from structlog.typing import EventDict, ExcInfo, Processor

from app.observability.masking import mask_fields, mask_line

_QUIET = (
    *("aiosqlite", "alembic", "asyncio", "httpcore", "httpx", "PIL"),
    *("uvicorn.access", "uvicorn.error"),
)
# What libraries put on their records for their own handlers.
_NOISE = ("_ray_timestamp_ns", "color_message")
# Values that go over several lines.
_LONG = ("exception", "stack")


def configure(level: str, shape: str, stream: TextIO | None = None) -> None:
    """Sets up logging of this process. `shape` is `text` or `json`; replaces an earlier set-up.

    Fields bound by `structlog.contextvars` (request id, run, attempt) are on each line, also on
    those of libraries, which use the standard library's loggers. No line holds a secret that this
    process knows (`masking.py`).
    """
    target = stream or sys.stderr
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(),
        _without_noise,
        mask_fields,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    handler = logging.StreamHandler(target)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                *_last(shape, is_terminal=target.isatty()),
                mask_line,
            ],
        )
    )
    logging.basicConfig(handlers=[handler], level=level.upper(), force=True)
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )


def log_crashes() -> None:
    """From now on, errors that nothing catches end as log lines: Python's own are not masked."""
    sys.excepthook = _crashed
    threading.excepthook = lambda found: _crashed(
        found.exc_type, found.exc_value or found.exc_type(), found.exc_traceback
    )
    sys.unraisablehook = lambda found: _crashed(
        found.exc_type, found.exc_value or found.exc_type(), found.exc_traceback
    )


def _crashed(
    kind: type[BaseException], error: BaseException, traceback: TracebackType | None
) -> None:
    if issubclass(kind, KeyboardInterrupt | SystemExit):
        sys.__excepthook__(kind, error, traceback)
        return
    logging.getLogger("crash").critical("uncaught error", exc_info=(kind, error, traceback))


def _without_noise(_logger: object, _method: str, line: EventDict) -> EventDict:
    for name in _NOISE:
        line.pop(name, None)
    return line


def _last(shape: str, *, is_terminal: bool) -> list[Processor]:
    if shape == "json":
        return [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    renderer = structlog.dev.ConsoleRenderer(
        colors=is_terminal, exception_formatter=_printable_traceback
    )
    return [_printable, renderer]


def _printable(_logger: object, _method: str, line: EventDict) -> EventDict:
    """Callers choose parts of a line: what they send must not move a terminal or end the line."""
    for name, value in line.items():
        if isinstance(value, str):
            line[name] = _escaped(value, kept="\n\t" if name in _LONG else "")
    return line


def _printable_traceback(target: TextIO, info: ExcInfo) -> None:
    text = io.StringIO()
    structlog.dev.plain_traceback(text, info)
    target.write(_escaped(text.getvalue(), kept="\n\t"))


def _escaped(text: str, *, kept: str) -> str:
    if text.isprintable():
        return text
    return "".join(
        sign if sign.isprintable() or sign in kept else repr(sign)[1:-1] for sign in text
    )
