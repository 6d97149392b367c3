"""The client of OpenAI-compatible servers: one model of one endpoint."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any, Self

import httpx
from pydantic_core import to_json

from app.llm import faults
from app.llm.answers import Reading, parse
from app.llm.chat import Completion, OnText, Sampling
from app.llm.dialect import Dialect
from app.llm.events import EventReader, EventTooLong
from app.llm.limits import USUAL, ChatLimits
from app.llm.words import storable

_ERROR_BYTES = 64 * 1024
_BEARER = "Bearer "
# A connection is used again only if its answer was read to the end, which follows the last event.
_TAIL_SECONDS = 0.25


class OpenAIChat:
    """A `ChatModel`. `http` has the base URL and the key, checks addresses and counts bytes.

    Owns `http`: close the model when it is no longer needed, or use it as a context. Any number
    of calls may run at once. `dialect` None: not known yet, taken for vLLM's.
    """

    def __init__(
        self,
        http: httpx.AsyncClient,
        model: str,
        *,
        dialect: Dialect | None = None,
        limits: ChatLimits = USUAL,
    ) -> None:
        self.model = model
        self._http = http
        self._dialect = dialect
        self._limits = limits
        self._host = http.base_url.netloc.decode("ascii")
        # Put together once: the client would read both anew for each request.
        self._url = httpx.URL(f"{http.base_url}chat/completions")
        self._headers = [*http.headers.raw, (b"Content-Type", b"application/json")]
        self._key = http.headers.get("authorization", "").removeprefix(_BEARER)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._http.aclose()

    async def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        sampling: Sampling,
        on_text: OnText | None = None,
    ) -> Completion:
        """See `ChatModel`."""
        started = time.monotonic()
        body = request_body(self.model, messages, sampling, self._dialect, is_stream=bool(on_text))
        reading = Reading(
            self._limits.text_length,
            expected=None if self._dialect is Dialect.OTHER else self.model,
            hidden=self._key,
        )
        first_at: float | None = None
        async with self._answer(body) as answer:
            if on_text is None or not _is_stream(answer):
                reading.take_whole(parse(await self._read(answer, self._limits.whole_bytes)))
            else:
                first_at = await self._follow(answer, reading, on_text)
        return Completion(
            text=reading.finish(),
            finish_reason=reading.finish_reason,
            usage=reading.usage,
            latency_seconds=time.monotonic() - started,
            first_token_seconds=None if first_at is None else first_at - started,
            model=reading.model,
        )

    @asynccontextmanager
    async def _answer(self, body: Mapping[str, Any]) -> AsyncIterator[httpx.Response]:
        """A good answer whose body is still to be read, within the time of the whole."""
        limits = self._limits
        # An answer in one piece is silent until it is finished.
        idle = limits.idle_seconds if body["stream"] else limits.total_seconds
        timeout = httpx.Timeout(idle, connect=limits.connect_seconds)
        request = httpx.Request(
            "POST",
            self._url,
            headers=self._headers,
            content=to_json(body),
            extensions={"timeout": timeout.as_dict()},
        )
        try:
            async with (
                asyncio.timeout(limits.total_seconds),
                aclosing(await self._http.send(request, stream=True)) as answer,
            ):
                if answer.status_code != 200:
                    said = await self._read(answer, _ERROR_BYTES, cuts=True)
                    raise faults.of_answer(
                        answer.status_code, said, answer.headers, hidden=self._key
                    )
                yield answer
        except TimeoutError:
            raise faults.timed_out(self._host, limits.total_seconds) from None
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            raise faults.of_failure(error, self._host) from error

    async def _read(self, answer: httpx.Response, limit: int, *, cuts: bool = False) -> bytes:
        """The body; of a longer one with `cuts` the beginning. Raises `ModelError`."""
        body = bytearray()
        async for piece in answer.aiter_bytes():
            body += piece
            if len(body) > limit:
                if cuts:
                    break
                raise faults.too_large(f"it has more than {limit:,} bytes")
        return bytes(body[:limit])

    async def _follow(
        self, answer: httpx.Response, reading: Reading, on_text: OnText
    ) -> float | None:
        """Reads a stream to its end; returns when its first text came."""
        events, first_at = EventReader(), None
        try:
            async with asyncio.timeout(None) as tail:
                async for piece in answer.aiter_bytes():
                    for data in events.feed(piece):
                        if text := reading.take_piece(data):
                            first_at = first_at or time.monotonic()
                            on_text(storable(text))
                    if reading.is_done and tail.when() is None:
                        tail.reschedule(asyncio.get_running_loop().time() + _TAIL_SECONDS)
        except EventTooLong:
            raise faults.too_large("one piece of its stream is far too long") from None
        except TimeoutError:
            if not reading.is_done:
                raise
        return first_at


def request_body(
    model: str,
    messages: Sequence[Mapping[str, Any]],
    sampling: Sampling,
    dialect: Dialect | None,
    *,
    is_stream: bool,
) -> dict[str, Any]:
    """What is sent for the next answer."""
    body: dict[str, Any] = {
        "model": model,
        "messages": list(messages),
        "temperature": sampling.temperature,
        "max_tokens": sampling.max_tokens,
        "top_p": sampling.top_p,
        "stream": is_stream,
    }
    if is_stream:
        body["stream_options"] = {"include_usage": True}
    if sampling.seed is not None:
        body["seed"] = sampling.seed
    if sampling.stop:
        body["stop"] = list(sampling.stop)
    if dialect is not Dialect.OTHER:
        body |= {
            "top_k": sampling.top_k,
            "min_p": sampling.min_p,
            "min_tokens": sampling.min_tokens,
            "skip_special_tokens": sampling.skip_special_tokens,
            "include_stop_str_in_output": sampling.include_stop_str_in_output,
        }
    return body


def _is_stream(answer: httpx.Response) -> bool:
    """A server that knows no streaming answers as a whole."""
    kind: str = answer.headers.get("content-type", "")
    return kind.partition(";")[0].strip().lower() == "text/event-stream"
