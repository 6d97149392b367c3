"""Refuses addresses with a NUL character, which no text in PostgreSQL can hold."""

from starlette.types import ASGIApp, Receive, Scope, Send

from app.api.errors import problem

_NULS = (b"%00", b"\0")


class PlainAddresses:
    """ASGI middleware, for pages and API: 400 for a NUL in the path or in the query.

    Lone surrogates cannot come this way: the server decodes addresses as UTF-8.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and _has_nul(scope):
            answer = problem(400, "the address holds a NUL character", code="bad_request")
            await answer(scope, receive, send)
        else:
            await self.app(scope, receive, send)


def _has_nul(scope: Scope) -> bool:
    return "\0" in scope["path"] or any(nul in scope["query_string"] for nul in _NULS)
