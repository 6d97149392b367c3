"""Bodies of `POST /v1/chat/completions`: what is read of them, and what is refused.

Fields that vLLM knows and this model has no use for are ignored, as vLLM ignores unknown ones.
"""

import json
from http import HTTPStatus
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from worker.serving.errors import ServingError, bad_request, bad_value, shorten
from worker.serving.limits import MAX_MESSAGES, MAX_MODEL_LEN, MAX_PARTS, MAX_STOPS

_SHOWN_PROBLEMS = 5
_MAX_TOP_LOG_PROBS = 20
_SEED = 2**63


class TextPart(BaseModel):
    type: Literal["text"]
    text: str


class ImageUrl(BaseModel):
    url: str


class ImagePart(BaseModel):
    type: Literal["image_url"]
    image_url: ImageUrl


class Message(BaseModel):
    role: Annotated[str, Field(max_length=64)]
    content: str | list[Annotated[TextPart | ImagePart, Field(discriminator="type")]] | None = None


class StreamOptions(BaseModel):
    include_usage: bool = False


class ChatRequest(BaseModel):
    """A request; `temperature` 0 takes the likeliest answer. No `model`: the base answers."""

    model_config = ConfigDict(allow_inf_nan=False)

    messages: list[Message]
    model: str | None = None
    stream: bool = False
    stream_options: StreamOptions | None = None
    max_completion_tokens: int | None = None
    max_tokens: int | None = None
    n: int = 1
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    seed: Annotated[int, Field(ge=-_SEED, lt=_SEED)] | None = None
    stop: str | list[str] | None = None
    include_stop_str_in_output: bool = False
    logprobs: bool = False
    top_logprobs: int = 0

    @property
    def token_limit(self) -> int:
        """Tokens that the answer may have."""
        given = self.max_completion_tokens or self.max_tokens
        return MAX_MODEL_LEN if given is None else given

    @property
    def stops(self) -> list[str]:
        """Texts that end the answer."""
        given = self.stop or []
        return [given] if isinstance(given, str) else given


def parse(body: bytes) -> ChatRequest:
    """Reads and checks a body. Raises `ServingError`."""
    given = _from_json(body)
    _check_counts(given)
    try:
        request = ChatRequest.model_validate(given)
    except ValidationError as error:
        raise _invalid([dict(each) for each in error.errors(include_url=False)]) from None
    _check_sampling(request)
    _check_shape(request)
    return request


def _from_json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except json.JSONDecodeError as error:
        problem = {"loc": (error.pos,), "msg": "JSON decode error", "input": {}}
        raise _invalid([{"type": "json_invalid", **problem, "ctx": {"error": error.msg}}]) from None
    except (ValueError, RecursionError):
        # No UTF-8, a number of thousands of digits, or brackets without end.
        raise bad_request("There was an error parsing the body") from None


def _check_counts(given: Any) -> None:
    """Before anything is validated: a million problems would take ten seconds and a gigabyte."""
    if not isinstance(given, dict):
        return
    messages, stops = given.get("messages"), given.get("stop")
    if isinstance(messages, list):
        _check_messages(messages)
    if isinstance(stops, list) and len(stops) > MAX_STOPS:
        raise _bad_stops()


def _check_messages(messages: list[Any]) -> None:
    if len(messages) > MAX_MESSAGES:
        raise bad_value(
            f"At most {MAX_MESSAGES} messages may be sent.", param="messages", value=len(messages)
        )
    contents = [each.get("content") for each in messages if isinstance(each, dict)]
    count = sum(len(each) for each in contents if isinstance(each, list))
    if count > MAX_PARTS:
        raise bad_value(
            f"At most {MAX_PARTS} parts of messages may be sent.", param="messages", value=count
        )


def _check_sampling(request: ChatRequest) -> None:
    limits: list[tuple[str, float, bool, str]] = [
        ("temperature", request.temperature, request.temperature >= 0, "must be non-negative"),
        ("top_p", request.top_p, 0 < request.top_p <= 1, "must be in (0, 1]"),
        ("top_k", request.top_k, request.top_k >= -1, "must be 0 (disable), or at least 1"),
        ("min_p", request.min_p, 0 <= request.min_p <= 1, "must be in [0, 1]"),
    ]
    for name, value, holds, wanted in limits:
        if not holds:
            raise bad_value(f"{name} {wanted}, got {value}.", param=name, value=value)
    if request.n != 1:
        raise bad_value("n must be 1: this endpoint gives one answer.", param="n", value=request.n)
    _check_max_tokens("max_tokens", request.max_tokens)
    _check_max_tokens("max_completion_tokens", request.max_completion_tokens)


def _check_max_tokens(name: str, value: int | None) -> None:
    if value is None:
        return
    if value < 1:
        raise bad_value(f"{name} must be at least 1, got {value}.", param=name, value=value)
    if value > MAX_MODEL_LEN:
        raise bad_value(
            f"{name}={value} cannot be greater than max_model_len={MAX_MODEL_LEN}. "
            "Please request fewer output tokens.",
            param=name,
            value=value,
        )


def _check_shape(request: ChatRequest) -> None:
    if not request.messages:
        raise bad_request("messages must not be empty.", param="messages")
    if "" in request.stops:
        raise _bad_stops()
    if request.stream_options is not None and not request.stream:
        raise bad_request(
            "Stream options can only be defined when `stream=True`. (parameter=stream_options)",
            param="stream_options",
        )
    if not 0 <= request.top_logprobs <= _MAX_TOP_LOG_PROBS:
        raise bad_value(
            f"top_logprobs must be from 0 to {_MAX_TOP_LOG_PROBS}.",
            param="top_logprobs",
            value=request.top_logprobs,
        )


def _bad_stops() -> ServingError:
    return bad_request(f"stop takes at most {MAX_STOPS} texts, none of them empty.", param="stop")


def _invalid(problems: list[dict[str, Any]]) -> ServingError:
    """400 in the form of vLLM's validation errors."""
    shown = [_shown(problem) for problem in problems[:_SHOWN_PROBLEMS]]
    count = len(problems)
    lines = "".join(f"\n  {each}" for each in shown)
    message = f"{count} validation error{'s' * (count > 1)}:{lines}"
    return ServingError(HTTPStatus.BAD_REQUEST, "Bad Request", message, param=shown[0]["loc"])


def _shown(problem: dict[str, Any]) -> dict[str, Any]:
    location = ".".join(map(str, ("body", *problem["loc"])))
    shown = {"type": problem["type"], "loc": shorten(location), "msg": problem["msg"]}
    shown["input"] = _summary(problem["input"])
    return shown | ({"ctx": problem["ctx"]} if problem["type"] == "json_invalid" else {})


def _summary(value: object) -> object:
    if isinstance(value, dict | list):
        return f"<{type(value).__name__} of {len(value)} items>"
    return shorten(str(value))
