"""Refuses state-changing requests that another site made a browser send.

No tokens: browsers tell where a request comes from, and no page can forge it. `Sec-Fetch-Site`
is read first, then `Origin` against `Host` (OWASP's cheat sheet on cross-site request forgery,
"Fetch Metadata"). A request with neither comes from no browser and carries no one's cookies
but its own.
"""

from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_OWN_SITES = frozenset({"same-origin", "none"})
_REFUSAL = (
    "This request came from another site and was refused. Nothing was changed. "
    "Open Skydeck itself and try again there."
)


class SameSiteOnly:
    """ASGI middleware: answers 403 to state-changing requests from other sites.

    Requests with a bearer token pass: a browser never adds one by itself.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] not in _SAFE_METHODS:
            headers = Headers(scope=scope)
            if not _has_token(headers) and not is_same_site(headers):
                await PlainTextResponse(_REFUSAL, status_code=403)(scope, receive, send)
                return
        await self.app(scope, receive, send)


def is_same_site(headers: Headers) -> bool:
    """Whether the request comes from our own pages, or from no browser at all."""
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site in _OWN_SITES
    origin = headers.get("origin")
    return origin is None or urlsplit(origin).netloc == headers.get("host", "")


def _has_token(headers: Headers) -> bool:
    return headers.get("authorization", "").lower().startswith("bearer ")
