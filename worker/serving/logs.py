"""Log lines on stderr: text for people or JSON for machines, as the other processes write them."""

import json
import logging
import time

_QUIET = ("asyncio", "PIL", "uvicorn.error")


def configure(level: str, shape: str) -> None:
    """Sets up logging of this process. `shape` is `text` or `json`. Raises `ValueError`."""
    handler = logging.StreamHandler()
    formatter = _Json() if shape == "json" else _Text()
    handler.setFormatter(formatter)
    logging.basicConfig(handlers=[handler], level=level.upper(), force=True)
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)


class _Text(logging.Formatter):
    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"

    def __init__(self) -> None:
        super().__init__("%(asctime)s [%(levelname)-8s] %(message)s [%(name)s]")
        self.converter = time.gmtime

    def formatMessage(self, record: logging.LogRecord) -> str:
        record.levelname = record.levelname.lower()
        return super().formatMessage(record)


class _Json(_Text):
    def format(self, record: logging.LogRecord) -> str:
        fields = {
            "event": record.getMessage(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "timestamp": self.formatTime(record),
        }
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return json.dumps(fields)
