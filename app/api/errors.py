"""Errors as `application/problem+json` (RFC 9457), with one entry in `errors` per refused value."""

import logging
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from sqlalchemy.exc import SQLAlchemyError
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.db import is_unreachable
from app.errors import Invalid, NotSignedIn, Problem, SkydeckError, TooMany

MEDIA_TYPE = "application/problem+json"
_logger = logging.getLogger(__name__)
_TOO_LARGE = "the body is too large; nothing was changed"
_DETAILS = {
    404: "there is nothing at this address",
    405: "this address does not take that method",
    413: _TOO_LARGE,
}


def install(app: FastAPI) -> None:
    """Pages put their own handlers before these, for their own paths."""
    app.add_exception_handler(SkydeckError, _known)
    app.add_exception_handler(RequestValidationError, _unreadable)
    app.add_exception_handler(HTTPException, _http)
    for kind in (SQLAlchemyError, ConnectionError):
        app.add_exception_handler(kind, _database)
    app.add_exception_handler(Exception, _unknown)
    app.add_middleware(TooLargeAsProblem)


class TooLargeAsProblem:
    """ASGI middleware: the body limits of routes answer 413 as plain text by themselves."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith("/api/"):
            await self.app(scope, receive, send)
            return
        is_replaced = False

        async def answer(message: Message) -> None:
            nonlocal is_replaced
            if message["type"] == "http.response.start" and _is_plain_413(message):
                is_replaced = True
                await problem(413, _TOO_LARGE, code="too_large")(scope, receive, send)
            elif not is_replaced:
                await send(message)

        await self.app(scope, receive, answer)


def problem(
    status: int,
    detail: str,
    *,
    code: str,
    problems: Sequence[Problem] = (),
    headers: dict[str, str] | None = None,
) -> JSONResponse:
    """The answer to a request that failed. `code` is the stable name of the kind of error."""
    body = {
        "type": f"urn:skydeck:problem:{code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "errors": [{"field": p.field, "rule": p.rule, "message": p.message} for p in problems],
    }
    return JSONResponse(body, status, headers, media_type=MEDIA_TYPE)


def _is_plain_413(message: Message) -> bool:
    media_type = Headers(raw=message["headers"]).get("content-type", "")
    return message["status"] == 413 and not media_type.startswith(MEDIA_TYPE)


def _known(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, SkydeckError)
    return problem(
        error.status,
        error.message,
        code=error.code,
        problems=error.problems if isinstance(error, Invalid) else (),
        headers=_headers(error),
    )


def _headers(error: SkydeckError) -> dict[str, str]:
    if isinstance(error, NotSignedIn):
        return {"WWW-Authenticate": "Bearer"}
    return {"Retry-After": str(error.retry_after_seconds)} if isinstance(error, TooMany) else {}


def _unreadable(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    problems = [_problem_of(found) for found in error.errors()]
    first = problems[0]
    others = ", ".join(dict.fromkeys(p.field for p in problems if p.field != first.field))
    detail = f"cannot accept {first.field}: {first.message}"
    return problem(
        422, f"{detail}; nor {others}" if others else detail, code="invalid", problems=problems
    )


def _problem_of(found: dict[str, Any]) -> Problem:
    place, *parts = (str(part) for part in found["loc"])
    if found["type"] == "json_invalid":
        reason = f"this is no JSON at character {parts[0]}: {found['ctx']['error']}"
        return Problem("body", "json", reason)
    return Problem(".".join(parts) or place, found["type"], found["msg"])


def _http(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    status = HTTPStatus(error.status_code)
    detail = error.detail if error.detail not in ("", status.phrase) else None
    return problem(
        status,
        detail or _DETAILS.get(status, status.description or status.phrase),
        code=status.name.lower(),
        headers=dict(error.headers or {}),
    )


def _database(request: Request, error: Exception) -> JSONResponse:
    if not is_unreachable(error):
        return _unknown(request, error)
    _logger.error("database failed", exc_info=error)
    return problem(
        503,
        "the database does not answer; nothing was changed; try again",
        code="unavailable",
        headers={"Retry-After": "2"},
    )


def _unknown(_request: Request, error: Exception) -> JSONResponse:
    _logger.error("request failed", exc_info=error)
    detail = "Skydeck made a mistake; the service's log has the details under this request's id"
    return problem(500, detail, code="internal")
