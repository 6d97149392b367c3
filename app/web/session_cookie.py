"""The cookie that holds a browser session's secret.

Over TLS it is `Secure` and its name starts with `__Host-`: browsers then take it from no other
host and from no plain connection (RFC 6265bis §4.1.3.2), so nobody can plant one. Whether a
request came over TLS is what the server saw, or said by a proxy of `SKYDECK_TRUSTED_PROXIES`.
"""

from typing import TypeVar

from starlette.requests import Request
from starlette.responses import Response

R = TypeVar("R", bound=Response)
SESSION_COOKIE = "skydeck_session"
SECURE_SESSION_COOKIE = "__Host-skydeck_session"
_DAY_SECONDS = 86_400


def read_session(request: Request) -> str:
    """The secret, or an empty text. Over TLS the plain name counts for nothing."""
    return request.cookies.get(_name(request), "")


def give_session(request: Request, response: R, secret: str, *, days: int) -> R:
    """Adds the cookie of a new session."""
    response.set_cookie(
        _name(request),
        secret,
        max_age=days * _DAY_SECONDS,
        path="/",
        httponly=True,
        samesite="lax",
        secure=_is_secure(request),
    )
    return response


def take_session(request: Request, response: R) -> R:
    """Removes the cookie."""
    response.delete_cookie(
        _name(request), path="/", httponly=True, samesite="lax", secure=_is_secure(request)
    )
    return response


def _name(request: Request) -> str:
    return SECURE_SESSION_COOKIE if _is_secure(request) else SESSION_COOKIE


def _is_secure(request: Request) -> bool:
    return request.url.scheme == "https"
