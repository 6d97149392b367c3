"""The HTTP side: routes, key, limits, errors."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import ParamSpec, TypeVar

import numpy as np
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from worker.serving import prompts, shapes
from worker.serving.answers import Answer, answer
from worker.serving.errors import ServingError, overflowed, too_busy
from worker.serving.http import KeyRequired, failed, http_error, read_body, refused
from worker.serving.limits import MAX_RUNNING
from worker.serving.models import BASE, Models
from worker.serving.pictures import Pictures
from worker.serving.requests import ChatRequest, parse

_Given = ParamSpec("_Given")
_Found = TypeVar("_Found")


def create_server(models: Models, *, key: str, version: str) -> Starlette:
    """The ASGI application. Everything under `/v1` wants `key`."""
    endpoint = _Endpoint(models, version)
    return Starlette(
        routes=[
            Route("/health", endpoint.health),
            Route("/version", endpoint.version),
            Route("/v1/models", endpoint.list_models),
            Route("/v1/chat/completions", endpoint.chat, methods=["POST"]),
        ],
        middleware=[Middleware(KeyRequired, key=key)],
        exception_handlers={
            ServingError: refused,
            HTTPException: http_error,
            Exception: failed,
        },
    )


class _Endpoint:
    def __init__(self, models: Models, version: str) -> None:
        self._models, self._version = models, version
        self._pictures = Pictures()
        # One thread computes: a second would not be faster, and the loop stays free for others.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="model")
        self._running = 0

    async def health(self, _request: Request) -> Response:
        return Response()

    async def version(self, _request: Request) -> Response:
        return JSONResponse({"version": self._version})

    async def list_models(self, _request: Request) -> Response:
        return JSONResponse(shapes.model_list(BASE, await self._compute(self._models.names)))

    async def chat(self, request: Request) -> Response:
        with self._counted():
            asked = parse(await read_body(request))
            model = asked.model or BASE
            given, prompt_tokens = await self._compute(self._answer, model, asked)
        if asked.stream:
            events = shapes.events(given, asked, model=model, prompt_tokens=prompt_tokens)
            return StreamingResponse(_one_by_one(events), media_type="text/event-stream")
        whole = shapes.completion(given, asked, model=model, prompt_tokens=prompt_tokens)
        return JSONResponse(whole)

    def _answer(self, model: str, asked: ChatRequest) -> tuple[Answer, int]:
        policy = self._models.policy(model)
        prompt = prompts.read(asked.messages, self._pictures)
        # Weights may each be finite and their products not.
        with np.errstate(all="ignore"):
            log_probs = policy.log_probs(prompt.picture[None])[0]
            if not np.isfinite(log_probs).all():
                raise overflowed(model)
            return answer(log_probs, asked), prompt.tokens

    async def _compute(
        self,
        function: Callable[_Given, _Found],
        *given: _Given.args,
        **named: _Given.kwargs,
    ) -> _Found:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, partial(function, *given, **named))

    @contextmanager
    def _counted(self) -> Iterator[None]:
        if self._running >= MAX_RUNNING:
            raise too_busy(MAX_RUNNING)
        self._running += 1
        try:
            yield
        finally:
            self._running -= 1


async def _one_by_one(events: Iterator[str]) -> AsyncIterator[str]:
    # Starlette would go through a plain iterator in a thread, which costs more than the answer.
    for event in events:
        yield event
