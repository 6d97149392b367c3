"""Full page or fragment, decided in one place by htmx's request headers."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request
from starlette.responses import Response

VARY = "HX-Request, HX-Request-Type"


@dataclass(frozen=True, slots=True)
class Htmx:
    """What htmx said about a request.

    `is_fragment`: the answer is swapped into a part of a page, so it must not be a whole page.
    Boosted links and history restores ask for a whole page (htmx 4: `HX-Request-Type: full`).
    """

    is_fragment: bool

    @classmethod
    def of(cls, request: Request) -> "Htmx":
        headers = request.headers
        is_partial = headers.get("hx-request-type") == "partial"
        return cls(is_fragment=headers.get("hx-request") == "true" and is_partial)


async def _of(request: Request) -> Htmx:
    return Htmx.of(request)


HtmxRequest = Annotated[Htmx, Depends(_of)]
"""Asynchronous, or each call would go through a thread of the pool."""


def vary(response: Response) -> Response:
    """Marks an answer that differs between page and fragment, so that no cache mixes them."""
    response.headers.add_vary_header(VARY)
    return response
