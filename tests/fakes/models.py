"""Models that answer from a script, and a source of them: no network."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from app.episodes.seats import Seat
from app.errors import NotFound
from app.llm.chat import Completion, ModelError, OnText, Sampling, Usage

Said = str | ModelError | Completion


class ScriptedModel:
    """Gives what `script` holds, one after the other, and the last for ever.

    `requests` keeps what it was asked. `gate`, if set, is awaited before each answer; `cancelled`:
    whoever asked went away meanwhile.
    """

    def __init__(self, *script: Said, gate: asyncio.Event | None = None) -> None:
        self.script = list(script)
        self.gate = gate
        self.asked = asyncio.Event()
        self.cancelled = False
        self.requests: list[list[Mapping[str, Any]]] = []
        self.samplings: list[Sampling] = []

    async def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        sampling: Sampling,
        on_text: OnText | None = None,
    ) -> Completion:
        self.requests.append(list(messages))
        self.samplings.append(sampling)
        self.asked.set()
        if self.gate is not None:
            try:
                await self.gate.wait()
            except asyncio.CancelledError:
                self.cancelled = True
                raise
        said = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if isinstance(said, ModelError):
            raise said
        if isinstance(said, Completion):
            return said
        if on_text is not None:
            on_text(said)
        return completion(said)


class ScriptedModels:
    """A `ModelSource` of the endpoints `endpoints`, all with the same models."""

    def __init__(self, **models: ScriptedModel) -> None:
        self.models = models
        self.endpoints = {"fake"}
        self.max_model_len: int | None = None
        self.maze_size: tuple[int, int] | None = None
        self.on_open: Callable[[Seat], None] = lambda _seat: None

    async def seat(self, _session: AsyncSession, endpoint: str, model: str) -> Seat:
        if endpoint not in self.endpoints or model not in self.models:
            raise NotFound(f"there is no model {model} at endpoint {endpoint}")
        return Seat(
            endpoint=endpoint,
            endpoint_name="Fake",
            model=model,
            max_model_len=self.max_model_len,
            maze_size=self.maze_size,
        )

    @asynccontextmanager
    async def open(self, seat: Seat) -> AsyncIterator[ScriptedModel]:
        self.on_open(seat)
        yield self.models[seat.model]


def completion(
    text: str, *, prompt_tokens: int | None = 300, completion_tokens: int | None = 8
) -> Completion:
    return Completion(
        text=text,
        finish_reason="stop",
        usage=Usage(prompt_tokens, completion_tokens),
        latency_seconds=0.25,
    )
