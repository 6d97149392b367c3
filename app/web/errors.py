"""Pages for errors: what happened, what was kept, what to do. The API answers by itself."""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import SQLAlchemyError
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.db import is_unreachable
from app.errors import NotSignedIn, SkydeckError, TooMany
from app.ids import new_slug
from app.web.csp import HEADERS
from app.web.deps import find_viewer, sign_in_url
from app.web.filters import sentence
from app.web.htmx import Htmx
from app.web.templating import page

_logger = logging.getLogger(__name__)
_NOT_PAGES = ("/api/", "/static/")
_NOT_PAGE_PATHS = frozenset({"/api", "/healthz", "/readyz", "/metrics"})
_TITLES = {
    401: "Not signed in",
    403: "Not allowed",
    404: "Nothing here",
    405: "Not possible here",
    409: "Not possible now",
    413: "Too large",
    422: "Not accepted",
    429: "Too often",
    500: "Something broke",
    503: "Not answering",
}
_TO_DO = {
    403: "Ask an administrator for access, or sign in as someone else.",
    404: "Check the address. A deleted run keeps its address but is not shown.",
    409: "Go back and look at its present state.",
    413: "Go back, where what you typed still stands, and send less of it.",
    422: "Go back and correct the value. The form keeps what you typed.",
    429: "Wait a minute and try again.",
    500: "Try again. If it comes back, tell an administrator the reference.",
    503: "Try again in a minute.",
}
_NOTHING_CHANGED = "Nothing was changed."
_TOO_LARGE = "What was sent is larger than this page takes."

Handler = Callable[[Request, Exception], Awaitable[Response] | Response]


@dataclass(frozen=True, slots=True)
class ErrorPage:
    """`reference` finds the error in the service's log; empty where there is nothing to find."""

    title: str
    happened: str
    kept: str
    to_do: str
    back: str
    back_url: str
    reference: str = ""


def install(app: FastAPI) -> None:
    """Answers errors on pages with pages; all other paths keep the handlers they had."""
    for kind, handler in (
        (SkydeckError, _known),
        (HTTPException, _http),
        (RequestValidationError, _invalid),
        (SQLAlchemyError, _database),
        (ConnectionError, _database),
        (Exception, _unknown),
    ):
        app.add_exception_handler(kind, _on_pages(handler, _handler_of(app, kind)))
    app.add_middleware(TooLargeAsPage)


class TooLargeAsPage:
    """ASGI middleware: the body limits of routes answer 413 as plain text by themselves."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not is_page(Request(scope)):
            await self.app(scope, receive, send)
            return
        is_replaced = False

        async def answer(message: Message) -> None:
            nonlocal is_replaced
            if message["type"] == "http.response.start" and _is_plain_413(message):
                is_replaced = True
                shown = await _answer(Request(scope), 413, _TOO_LARGE)
                await shown(scope, receive, send)
            elif not is_replaced:
                await send(message)

        await self.app(scope, receive, answer)


def is_page(request: Request) -> bool:
    path = request.url.path
    return not path.startswith(_NOT_PAGES) and path not in _NOT_PAGE_PATHS


def _is_plain_413(message: Message) -> bool:
    media_type = Headers(raw=message["headers"]).get("content-type", "")
    return message["status"] == 413 and media_type.startswith("text/plain")


def _handler_of(app: FastAPI, kind: type[Exception]) -> Handler | None:
    found: Handler | None = app.exception_handlers.get(kind)
    return found


def _on_pages(handler: Handler, others: Handler | None) -> Handler:
    async def choose(request: Request, error: Exception) -> Response:
        chosen = handler if others is None or is_page(request) else others
        answer = chosen(request, error)
        return answer if isinstance(answer, Response) else await answer

    return choose


async def _known(request: Request, error: Exception) -> Response:
    assert isinstance(error, SkydeckError)
    if isinstance(error, NotSignedIn) and not Htmx.of(request).is_fragment:
        return RedirectResponse(sign_in_url(request), 303)
    answer = await _answer(request, error.status, sentence(error.message))
    if isinstance(error, TooMany):
        answer.headers["Retry-After"] = str(error.retry_after_seconds)
    return answer


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    happened = {
        404: f"There is no page at {request.url.path}.",
        405: f"{request.url.path} cannot be asked for this way.",
    }.get(error.status_code, sentence(error.detail))
    return await _answer(request, error.status_code, happened)


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    named = ", ".join(str(item["loc"][-1]) for item in error.errors())
    return await _answer(request, 422, f"A value in the address or form cannot be read: {named}.")


async def _database(request: Request, error: Exception) -> Response:
    if not is_unreachable(error):
        return await _unknown(request, error)
    _logger.error("database failed", exc_info=error)
    return await _answer(request, 503, "The database does not answer right now.")


async def _unknown(request: Request, error: Exception) -> Response:
    reference = new_slug("err")
    _logger.error("page failed", exc_info=error, extra={"reference": reference})
    happened = "Skydeck made a mistake while it built this page."
    return await _answer(request, 500, happened, reference=reference)


async def _answer(request: Request, status: int, happened: str, *, reference: str = "") -> Response:
    try:
        viewer = await find_viewer(request)
    except Exception:
        # The database may be what broke; the page must still be shown.
        request.state.viewer = viewer = None
    context = ErrorPage(
        title=_TITLES.get(status, HTTPStatus(status).phrase.capitalize()),
        happened=happened,
        kept=_NOTHING_CHANGED,
        to_do=_TO_DO.get(status, "Go back and try again."),
        back="Go to runs" if viewer else "Go to sign-in",
        back_url="/runs" if viewer else "/sign-in",
        reference=reference,
    )
    layout = "layouts/page.html" if viewer else "layouts/plain.html"
    # An unforeseen error is answered outside of all middleware, so the headers are added here.
    return page(
        request, "errors/error.html", context, status=status, headers=HEADERS, layout=layout
    )
