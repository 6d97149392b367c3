"""Turns what went wrong into a `ModelError`: errors of servers in all their shapes, and of the way.

Shapes, as recorded: `{"error": {"message", "code", ...}}` (vLLM, OpenAI), `{"error": "text"}`
(vLLM's 401), `{"detail": "text"}` (Ray Serve, FastAPI), `{"detail": [{"loc", "msg"}]}` (FastAPI),
and the web pages of proxies.
"""

import json
import re
from collections.abc import Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx

from app.clock import utcnow
from app.llm import words
from app.llm.chat import ModelError, ModelErrorKind
from app.observability.masking import masked
from app.outgoing.errors import (
    AddressRefused,
    AnswerTooLarge,
    AnswerTooSlow,
    AnswerUnreadable,
    OutgoingError,
    RedirectRefused,
)

Kind = ModelErrorKind
LONGEST_WAIT_SECONDS = 3_600.0
_LONGEST_MESSAGE = 500
_TOO_LONG = re.compile(
    r"context[ _](?:length|window)|maximum input length|too many input tokens", re.IGNORECASE
)
# vLLM's words for more answer than fits; the conversation itself may be short. Looked for one after
# the other: as one pattern a hostile text would cost the square of its length.
_ASKED = re.compile(r"\bmax_(?:completion_)?tokens\b")
_TOO_MUCH = re.compile(r"cannot|must not|at most")
_DEEPEST = 16
"""Levels of an error's JSON that are looked into; real ones have three."""
_BEGINNINGS = {
    Kind.UNAUTHORIZED: "The endpoint refused its key",
    Kind.NOT_FOUND: "The endpoint does not have this model, or nothing at this address",
    Kind.CONTEXT_OVERFLOW: "The conversation is longer than the model's context",
    Kind.BAD_REQUEST: "The endpoint refused the request",
    Kind.RATE_LIMITED: "The endpoint is asked too often",
    Kind.SERVER_ERROR: "The endpoint failed",
    Kind.TIMED_OUT: "The endpoint took too long",
    Kind.REFUSED: "The endpoint redirects elsewhere, which is not followed: give the final address",
    Kind.BAD_ANSWER: "The endpoint answered with a status that means nothing here",
}
_ENDINGS = {
    Kind.UNAUTHORIZED: " An administrator can set another key.",
    Kind.SERVER_ERROR: " Try again; its own log says more.",
}
_BY_STATUS = {
    401: Kind.UNAUTHORIZED,
    403: Kind.UNAUTHORIZED,
    404: Kind.NOT_FOUND,
    408: Kind.TIMED_OUT,
    429: Kind.RATE_LIMITED,
    504: Kind.TIMED_OUT,
}


def of_answer(
    status: int, body: bytes, headers: Mapping[str, str], *, hidden: str = ""
) -> ModelError:
    """The error that an answer with such a status is; `hidden` is never quoted."""
    text = _text(body)
    kind = _kind(status, text)
    wait = retry_after(headers.get("retry-after", ""), utcnow())
    return _error(kind, status, text, wait, hidden)


def of_event(event: Mapping[str, Any], *, hidden: str = "") -> ModelError:
    """An error that came in the middle of a stream, whose status was 200."""
    fault = event.get("error")
    code = fault.get("code") if isinstance(fault, Mapping) else None
    status = code if isinstance(code, int) and 400 <= code <= 599 else 500
    text = _said_in(event)
    return _error(_kind(status, text), status, text, None, hidden)


def of_failure(error: Exception, host: str) -> ModelError:
    """What happened on the way to the endpoint or back."""
    if isinstance(error, OutgoingError):
        return ModelError(_kind_of_outgoing(error), error.message[:_LONGEST_MESSAGE])
    if isinstance(error, httpx.ConnectError) and "CERTIFICATE" in str(error).upper():
        text = f"The certificate of {host} is not trusted by this machine."
        return ModelError(Kind.UNREACHABLE, text)
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        text = f"Nobody answers at {host}: check that the endpoint runs there."
        return ModelError(Kind.UNREACHABLE, text)
    if isinstance(error, httpx.TimeoutException):
        return ModelError(Kind.TIMED_OUT, f"{host} went silent. Try again.")
    is_nonsense = isinstance(error, httpx.RemoteProtocolError) and not re.search(
        r"disconnected|closed connection", str(error)
    )
    if is_nonsense or isinstance(error, httpx.DecodingError):
        text = f"What answers at {host} does not keep to HTTP: check the address and its port."
        return ModelError(Kind.BAD_ANSWER, text)
    return ModelError(Kind.INTERRUPTED, f"{host} ended the connection before its answer did.")


def timed_out(host: str, seconds: float) -> ModelError:
    text = f"{host} gave no complete answer within {seconds:g} s. Try again."
    return ModelError(Kind.TIMED_OUT, text)


def too_large(what: str) -> ModelError:
    return ModelError(Kind.TOO_LARGE, f"The answer was cut off and dropped: {what}.")


def bad_answer(what: str) -> ModelError:
    return ModelError(Kind.BAD_ANSWER, f"The endpoint's answer is not usable: {what}.")


def retry_after(text: str, now: datetime) -> float | None:
    """Seconds of a Retry-After header (RFC 9110 §10.2.3), at most an hour; None if there is none.

    It is a number of seconds or a date.
    """
    if text.isascii() and text.isdigit():
        return min(float(text[:9]), LONGEST_WAIT_SECONDS)
    try:
        seconds = (parsedate_to_datetime(text) - now).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return None
    return min(max(0.0, seconds), LONGEST_WAIT_SECONDS)


def _error(kind: Kind, status: int, text: str, wait: float | None, hidden: str) -> ModelError:
    quote = masked(words.said(text, hidden=hidden))
    message = f"{_BEGINNINGS[kind]} (HTTP {status}{': ' + quote if quote else ''})."
    if wait is not None:
        message += f" It asks to wait {wait:g} s."
    message += _ENDINGS.get(kind, "")
    return ModelError(
        kind, message[:_LONGEST_MESSAGE], server_status=status, retry_after_seconds=wait
    )


def _kind(status: int, text: str) -> Kind:
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status >= 500:
        return Kind.SERVER_ERROR
    if status >= 400:
        is_long = _TOO_LONG.search(text) and not _asks_too_much(text)
        return Kind.CONTEXT_OVERFLOW if is_long else Kind.BAD_REQUEST
    return Kind.REFUSED if status >= 300 else Kind.BAD_ANSWER


def _asks_too_much(text: str) -> bool:
    asked = _ASKED.search(text)
    return asked is not None and _TOO_MUCH.search(text, asked.end()) is not None


def _kind_of_outgoing(error: OutgoingError) -> Kind:
    if isinstance(error, AddressRefused | RedirectRefused):
        return Kind.REFUSED
    if isinstance(error, AnswerTooLarge):
        return Kind.TOO_LARGE
    if isinstance(error, AnswerTooSlow):
        return Kind.TIMED_OUT
    return Kind.BAD_ANSWER if isinstance(error, AnswerUnreadable) else Kind.UNREACHABLE


def _text(body: bytes) -> str:
    """What the body of an error says, as text of any length."""
    text = body.decode("utf-8", "replace").strip()
    if text.startswith("<"):
        return "it sent a web page"
    try:
        return _said_in(json.loads(text))
    except (ValueError, RecursionError):
        return text


def _said_in(body: Any, depth: int = 0) -> str:
    if isinstance(body, str):
        return body
    if depth > _DEEPEST:
        return ""
    if isinstance(body, list):
        return "; ".join(_said_in(each, depth + 1) for each in body[:3])
    if not isinstance(body, Mapping):
        return ""
    for name in ("error", "detail", "message", "msg"):
        if body.get(name):
            where = body.get("loc") if name == "msg" else None
            place = ".".join(map(_place, where)) + ": " if isinstance(where, list) else ""
            return place + _said_in(body[name], depth + 1)
    return ""


def _place(part: Any) -> str:
    return str(part) if isinstance(part, str | int) else "…"
