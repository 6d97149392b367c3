"""JSON bodies, read more strictly than FastAPI does, with a reason for each refusal."""

import json
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from app.errors import Invalid, Problem

_JSON = "application/json"


class JsonRoute(APIRoute):
    """A route whose JSON body is read by `read_json`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def strictly(request: Request) -> Response:
            if self.body_field is not None:
                _require_json(request)
            try:
                return await handle(_StrictRequest(request.scope, request.receive))
            except HTTPException as error:
                # FastAPI answers "There was an error parsing the body" to what it does not know.
                if isinstance(error.__cause__, Invalid):
                    raise error.__cause__ from None
                raise

        return strictly


def read_json(body: bytes) -> Any:
    """The value in `body`. Raises `json.JSONDecodeError` where it is no JSON.

    Raises `Invalid` for bytes that are not UTF-8, for numbers of more digits than Python reads
    (4,300), for too deep a nesting, and for a key that stands twice in one object.
    """
    try:
        return json.loads(body, object_pairs_hook=_once)
    except json.JSONDecodeError:
        raise
    except UnicodeDecodeError as error:
        raise _refused("encoding", f"the body is not UTF-8 at byte {error.start}") from None
    except RecursionError:
        raise _refused("depth", "the body is nested too deeply") from None
    except ValueError:
        raise _refused("number", "a number in the body has too many digits") from None


def _require_json(request: Request) -> None:
    """A body of another type is none of ours, and pages of other sites can send `text/plain`."""
    headers = request.headers
    if "transfer-encoding" not in headers and headers.get("content-length", "0") == "0":
        return
    given = headers.get("content-type", "").partition(";")[0].strip().lower()
    if given != _JSON and not (given.startswith("application/") and given.endswith("+json")):
        raise HTTPException(415, f"send Content-Type: {_JSON}; nothing was changed")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in found if names.count(name) > 1)
        raise _refused("twice", f"the key {_shown(twice)} stands twice in one object")
    return found


def _shown(name: str) -> str:
    text = ascii(name)
    return text if len(text) <= 60 else text[:57] + "..."


def _refused(rule: str, message: str) -> Invalid:
    return Invalid(message, [Problem("body", rule, message)])


class _StrictRequest(Request):
    async def json(self) -> Any:
        return read_json(await self.body())
