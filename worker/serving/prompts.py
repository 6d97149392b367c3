"""What of a conversation reaches the policy: its last picture, and how long it is."""

import re
from dataclasses import dataclass
from itertools import islice

from worker.jobs.maze_grpo.model import VISUAL_TOKENS
from worker.jobs.maze_grpo.vectors import Floats
from worker.serving.errors import ServingError, bad_request, bad_value
from worker.serving.limits import MAX_IMAGES, MAX_MODEL_LEN
from worker.serving.pictures import Pictures
from worker.serving.requests import ImagePart, Message

# The model has no text tokens. Pieces of this size are about what a real tokenizer makes.
_PIECE = re.compile(r"[A-Za-z0-9_]{1,4}|\S")
_FRAME = 5
"""Tokens around each message in the chat template."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """`picture` is the policy's input (243,); `tokens` what the whole conversation counts."""

    picture: Floats
    tokens: int


def read(messages: list[Message], pictures: Pictures) -> Prompt:
    """Checks the conversation and decodes its pictures. Raises `ServingError`, a 400."""
    uris = [
        part.image_url.url
        for message in messages
        for part in _parts(message)
        if isinstance(part, ImagePart)
    ]
    if len(uris) > MAX_IMAGES:
        raise bad_request(
            f"At most {MAX_IMAGES} image(s) may be provided in one prompt. (parameter=image)",
            param="image",
        )
    tokens = _tokens(messages) + len(uris) * (VISUAL_TOKENS + 2)
    if tokens > MAX_MODEL_LEN:
        raise _too_long(tokens, has_images=bool(uris))
    if not uris:
        raise bad_request(
            "This model answers pictures of mazes: send one as an image_url part.", param="messages"
        )
    return Prompt([pictures.read(uri) for uri in uris][-1], tokens)


def _parts(message: Message) -> list[object]:
    return list(message.content) if isinstance(message.content, list) else []


def _tokens(messages: list[Message]) -> int:
    """Counted up to one more than there may be: the work is bounded."""
    count = _FRAME // 2 + 1
    for message in messages:
        count += _FRAME
        texts = [message.content] if isinstance(message.content, str) else []
        texts += [part.text for part in message.content or () if hasattr(part, "text")]
        for text in texts:
            rest = max(MAX_MODEL_LEN + 1 - count, 0)
            count += sum(1 for _ in islice(_PIECE.finditer(text), rest))
    return count


def _too_long(tokens: int, *, has_images: bool) -> ServingError:
    """vLLM finds text and pictures too long at different places, and says it in two ways."""
    if has_images:
        return bad_request(
            f"Input length ({tokens}) exceeds model's maximum context length ({MAX_MODEL_LEN})."
        )
    return bad_value(
        f"This model's maximum context length is {MAX_MODEL_LEN} tokens. However, your prompt "
        f"contains at least {tokens} input tokens, which exceeds this limit even without any "
        "output tokens. Please reduce the length of the input prompt.",
        param="input_tokens",
        value=tokens,
    )
