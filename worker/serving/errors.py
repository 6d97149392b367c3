"""Refusals, in the shapes that a real vLLM 0.32 gives (recorded exchanges are in the tests)."""

from http import HTTPStatus
from typing import Any

_SHOWN_CHARACTERS = 200


class ServingError(Exception):
    """A request that is not answered. `kind` and `param` are `type` and `param` of the body."""

    def __init__(self, status: HTTPStatus, kind: str, message: str, *, param: str | None = None):
        super().__init__(message)
        self.status, self.kind, self.message, self.param = status, kind, message, param

    @property
    def body(self) -> dict[str, Any]:
        """What the server answers."""
        return {
            "error": {
                "message": self.message,
                "type": self.kind,
                "param": self.param,
                "code": int(self.status),
            }
        }


def bad_request(message: str, *, param: str | None = None) -> ServingError:
    """400: the request is well-formed, and cannot be answered."""
    return ServingError(HTTPStatus.BAD_REQUEST, "BadRequestError", message, param=param)


def bad_value(message: str, *, param: str, value: object) -> ServingError:
    """400 for the value of one parameter, which vLLM repeats at the end of the message."""
    return bad_request(f"{message} (parameter={param}, value={value})", param=param)


def unknown_model(name: str, *, aliases: str) -> ServingError:
    """404: there is no model or adapter of that name."""
    message = f"The model `{shorten(name)}` does not exist. Valid aliases: {aliases}."
    return ServingError(HTTPStatus.NOT_FOUND, "NotFoundError", message, param="model")


def overflowed(model: str) -> ServingError:
    """400: an adapter's weights are finite, and too large to compute with."""
    message = f"'{model}' gives no finite numbers for this picture: its weights are too large."
    return bad_request(message, param="model")


def too_large(most: int) -> ServingError:
    """413: the body is longer than `most` bytes."""
    message = f"The request is larger than the {most} bytes that this endpoint takes."
    return ServingError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "RequestTooLarge", message)


def too_slow(seconds: float) -> ServingError:
    """408: the body did not arrive."""
    message = f"The request did not arrive within {seconds:.0f} seconds."
    return ServingError(HTTPStatus.REQUEST_TIMEOUT, "RequestTimeout", message)


def too_busy(most: int) -> ServingError:
    """503: others are being answered."""
    message = f"{most} requests are being answered already: try again in a moment."
    return ServingError(HTTPStatus.SERVICE_UNAVAILABLE, "ServiceUnavailableError", message)


def internal() -> ServingError:
    """500: what went wrong is in the log."""
    message = "Internal error; the log of the endpoint says more."
    return ServingError(HTTPStatus.INTERNAL_SERVER_ERROR, "InternalServerError", message)


def shorten(text: str) -> str:
    """At most 200 characters of what a caller sent; halves of characters become question marks."""
    text = text[: _SHOWN_CHARACTERS + 1].encode(errors="replace").decode()
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"
