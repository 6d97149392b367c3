"""An id and a log line for each request."""

import logging
import re
import time
from http import HTTPStatus

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.ids import new_slug

HEADER = "X-Request-ID"
# The address of a shared run is its key.
_SHARED = re.compile(r"^/shared/[^/]+")
_GIVEN = re.compile(r"[A-Za-z0-9._-]{1,64}")
_logger = logging.getLogger("app.requests")


class RequestLog:
    """ASGI middleware: takes or makes the request's id, answers with it, logs one line.

    Whoever handles the request finds the id as `request.state.request_id`.
    The line has no query and no headers: they may hold secrets. It is written when the answer
    starts, so that a stream's line does not wait for its end.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request_id = _id_of(Headers(scope=scope))
        scope.setdefault("state", {})["request_id"] = request_id
        started = time.perf_counter()

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[HEADER] = request_id
                _log(scope, int(message["status"]), time.perf_counter() - started)
            await send(message)

        with structlog.contextvars.bound_contextvars(request_id=request_id):
            await self.app(scope, receive, answer)


def _id_of(headers: Headers) -> str:
    given = headers.get(HEADER, "")
    return given if _GIVEN.fullmatch(given) else new_slug("req")


def _log(scope: Scope, status: int, seconds: float) -> None:
    path = _SHARED.sub("/shared/***", scope["path"])
    # Live pages look every second: what changes something, or goes wrong, must stand out.
    is_plain_look = scope["method"] in ("GET", "HEAD") and status < HTTPStatus.BAD_REQUEST
    level = logging.DEBUG if is_plain_look else logging.INFO
    fields = {"method": scope["method"], "path": path, "status": status}
    _logger.log(level, "request", extra=fields | {"seconds": round(seconds, 4)})
