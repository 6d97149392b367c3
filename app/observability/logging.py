"""Log lines of the service: text for people or JSON for machines, always on stderr."""

import logging
import sys
from typing import TextIO

import structlog
from structlog.typing import EventDict, Processor

_QUIET = (
    *("aiosqlite", "alembic", "asyncio", "httpcore", "httpx", "PIL"),
    *("uvicorn.access", "uvicorn.error"),
)
# What libraries put on their records for their own handlers.
_NOISE = ("_ray_timestamp_ns", "color_message")


def configure(level: str, shape: str, stream: TextIO | None = None) -> None:
    """Sets up logging of this process. `shape` is `text` or `json`; replaces an earlier set-up.

    Fields bound by `structlog.contextvars` (request id, run, attempt) are on each line, also on
    those of libraries, which use the standard library's loggers.
    """
    target = stream or sys.stderr
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(),
        _without_noise,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    handler = logging.StreamHandler(target)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                *_last(shape, is_terminal=target.isatty()),
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


def _without_noise(_logger: object, _method: str, line: EventDict) -> EventDict:
    for name in _NOISE:
        line.pop(name, None)
    return line


def _last(shape: str, *, is_terminal: bool) -> list[Processor]:
    if shape == "json":
        return [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    plain = structlog.dev.plain_traceback
    return [structlog.dev.ConsoleRenderer(colors=is_terminal, exception_formatter=plain)]
