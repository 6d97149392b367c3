"""The register of what a served model may do instead of answering."""

from collections.abc import Awaitable, Callable
from typing import Any

from tests.fakes import openai_dialects as shapes
from tests.fakes.openai_exchange import Exchange

Behaviour = Callable[[Exchange], Awaitable[None]]
BEHAVIOURS: dict[str, Behaviour] = {}
RIGHT = "<action>('move', 0)</action>"


def behaviour(function: Behaviour) -> Behaviour:
    BEHAVIOURS[function.__name__.removeprefix("_").replace("_", "-")] = function
    return function


async def answer(exchange: Exchange, text: str, **fields: Any) -> None:
    """The right form, whatever the words; `fields` are set on the body, or on each chunk."""
    options: dict[str, Any] = {"finish": "stop", "prompt_tokens": 323}
    if not exchange.is_stream:
        body = shapes.completion(exchange.model, text, **options)
        await exchange.json(200, body | fields)
        return
    chunks = shapes.chunks(exchange.model, text, has_usage=exchange.has_usage, **options)
    await exchange.events([chunk | fields for chunk in chunks])
