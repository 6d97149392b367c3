"""What all routes share: the key, bounded bodies, and errors as vLLM words them."""

import asyncio
import hmac
from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from worker.serving.errors import ServingError, internal, too_large, too_slow
from worker.serving.limits import BODY_SECONDS, MAX_BODY_BYTES

_PROTECTED = "/v1"


class KeyRequired:
    """Middleware: paths under `/v1` want `Authorization: Bearer <key>`; the others are open."""

    def __init__(self, app: ASGIApp, *, key: str) -> None:
        self._app, self._wanted = app, f"Bearer {key}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith(_PROTECTED):
            given = dict(scope["headers"]).get(b"authorization", b"")
            if not hmac.compare_digest(given, self._wanted):
                refusal = JSONResponse({"error": "Unauthorized"}, HTTPStatus.UNAUTHORIZED)
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)


async def read_body(request: Request) -> bytes:
    """Raises `ServingError` if it is too large, or does not arrive in time."""
    length = request.headers.get("content-length", "")
    if length.isascii() and length.isdigit() and int(length) > MAX_BODY_BYTES:
        raise too_large(MAX_BODY_BYTES)
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in request.stream():
                body += chunk
                if len(body) > MAX_BODY_BYTES:
                    raise too_large(MAX_BODY_BYTES)
    except TimeoutError:
        raise too_slow(BODY_SECONDS) from None
    return bytes(body)


async def refused(_request: Request, error: Exception) -> Response:
    """The answer to a `ServingError`."""
    assert isinstance(error, ServingError)
    headers = {"Retry-After": "1"} if error.status is HTTPStatus.SERVICE_UNAVAILABLE else None
    return JSONResponse(error.body, error.status, headers)


async def http_error(_request: Request, error: Exception) -> Response:
    """The answer to an unknown path or a wrong method."""
    assert isinstance(error, HTTPException)
    return JSONResponse({"detail": error.detail}, error.status_code, error.headers)


async def failed(_request: Request, _error: Exception) -> Response:
    """The answer to a bug; the server logs it."""
    error = internal()
    return JSONResponse(error.body, error.status)
