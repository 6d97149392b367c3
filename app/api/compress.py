"""Large answers of lists, compressed where the caller takes gzip.

Only of answers that hold no secret: what is compressed together with a secret tells of it (BREACH).
"""

import gzip
from typing import TypeVar

from fastapi import Request, Response

_LEAST = 1_000
R = TypeVar("R", bound=Response)
# Tables repeat themselves: the levels above take twice the time for a tenth less.
_LEVEL = 1


def takes_gzip(request: Request) -> bool:
    accepted = request.headers.get("accept-encoding", "")
    return any(part.strip().partition(";")[0] == "gzip" for part in accepted.split(","))


def compressed(request: Request, response: R, *, level: int = _LEVEL) -> R:
    """The answer itself, its body packed and its headers told so."""
    response.headers.add_vary_header("Accept-Encoding")
    if takes_gzip(request) and len(response.body) >= _LEAST:
        response.body = gzip.compress(bytes(response.body), level, mtime=0)
        response.headers["Content-Encoding"] = "gzip"
        response.headers["Content-Length"] = str(len(response.body))
    return response
