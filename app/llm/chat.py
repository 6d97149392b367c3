"""What every served model offers to those who talk with it: one answer to a conversation.

Messages are those of OpenAI's chat completions: `{"role": ..., "content": text or parts}`, a part
`{"type": "text", "text": ...}` or `{"type": "image_url", "image_url": {"url": "data:..."}}`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from app.errors import SkydeckError

Message = dict[str, Any]
OnText = Callable[[str], None]
"""Takes each new piece of the answer's text as it arrives."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How tokens are drawn. The defaults are what SkyRL's evaluation sends to vLLM.

    SkyRL's `logprobs` is left out: it changes no token. `top_k` -1 and `min_p` 0 mean: off.
    """

    temperature: float = 0.0
    max_tokens: int = 1024
    top_p: float = 1.0
    top_k: int = -1
    min_p: float = 0.0
    min_tokens: int = 1
    seed: int | None = None
    stop: tuple[str, ...] = ()
    skip_special_tokens: bool = True
    include_stop_str_in_output: bool = True


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the server counted them; None where it did not say, or said nonsense."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """An answer. `text` is as it came, but for NUL and broken characters, which become U+FFFD.

    It is untrusted: shown only as text. `first_token_seconds` is None unless it was streamed;
    `model` is the name that the server answered under.
    """

    text: str
    finish_reason: str | None
    usage: Usage
    latency_seconds: float
    first_token_seconds: float | None = None
    model: str | None = None


class ChatModel(Protocol):
    async def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        sampling: Sampling,
        on_text: OnText | None = None,
    ) -> Completion:
        """Asks for the next message; streams if `on_text` is given.

        Raises `ModelError`, and nothing else, within the model's time limits. May be cancelled at
        any time; the connection is then closed, which makes a server stop.
        """
        ...


class ModelErrorKind(StrEnum):
    """What went wrong; each kind asks something else of people. `RETRYABLE` may pass by itself."""

    REFUSED = "refused"
    """By our own rules for outgoing calls; nothing was sent."""
    UNREACHABLE = "unreachable"
    TIMED_OUT = "timed_out"
    UNAUTHORIZED = "unauthorized"
    NOT_FOUND = "not_found"
    CONTEXT_OVERFLOW = "context_overflow"
    BAD_REQUEST = "bad_request"
    RATE_LIMITED = "rate_limited"
    SERVER_ERROR = "server_error"
    BAD_ANSWER = "bad_answer"
    """It answered, but not as the protocol says."""
    TOO_LARGE = "too_large"
    INTERRUPTED = "interrupted"
    """The connection ended in the middle of the answer."""


RETRYABLE = frozenset(
    {
        ModelErrorKind.UNREACHABLE,
        ModelErrorKind.TIMED_OUT,
        ModelErrorKind.RATE_LIMITED,
        ModelErrorKind.SERVER_ERROR,
        ModelErrorKind.BAD_ANSWER,
        ModelErrorKind.INTERRUPTED,
    }
)


class ModelError(SkydeckError):
    """The model gave no answer. `message` is one plain sentence or two, at most 500 characters.

    `server_status` is the HTTP status of the server's answer, None if there was none;
    `retry_after_seconds` is how long the server asked to wait. (`status` is that of our own
    answer, should nobody handle this.)
    """

    code = "model_error"
    status = 502

    def __init__(
        self,
        kind: ModelErrorKind,
        message: str,
        *,
        server_status: int | None = None,
        retry_after_seconds: float | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.server_status = server_status
        self.retry_after_seconds = retry_after_seconds

    @property
    def is_retryable(self) -> bool:
        """Whether the same request may succeed later without anybody changing anything."""
        return self.kind in RETRYABLE
