"""A server of models that speaks as vLLM or as Ray Serve LLM does, and misbehaves when told to.

`async with FakeOpenAI().serve()` listens in the running event loop, `with fake.in_thread()` in one
of its own; `python -m tests.fakes.openai_server --latency 0.1` is a process by itself. A real HTTP
server, written by hand so that it can also break HTTP: see `openai_hostile.py`.
"""

import argparse
import asyncio
import base64
import binascii
import contextlib
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from tests.fakes import openai_dialects as shapes
from tests.fakes.openai_dialects import Dialect, Fault
from tests.fakes.openai_exchange import Exchange, HangUp
from tests.fakes.openai_hostile import BEHAVIOURS, PREFIX

BASE = "visgym-qwen3vl"
KEY = "test-key-1"
Messages = list[dict[str, Any]]
Answer = Callable[[Messages], str]
_IMAGE_HEADS = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF8", b"RIFF", b"BM")
_TOKENS_AN_IMAGE = 64
_KEPT_REQUESTS = 500


class FakeOpenAI:
    """`adapters` maps an adapter's id to its base's; change it, and the list of models changes.

    `answers` gives the words of a model (of all others: `default`). `behave` makes a model do one
    of `BEHAVIOURS` until told otherwise. With `is_hostile` each behaviour is a model of its own,
    `hostile:<name>`. `pause_seconds` is how long a stream waits after each piece. `requests` keeps
    the newest bodies, `lost` counts callers that went early.
    """

    def __init__(
        self,
        *,
        dialect: Dialect = Dialect.VLLM,
        key: str | None = KEY,
        latency_seconds: float = 0.0,
        is_hostile: bool = True,
        max_model_len: int = 6_000,
        max_images: int = 20,
    ) -> None:
        self.dialect = dialect
        self.key = key
        self.latency_seconds = latency_seconds
        self.max_model_len = max_model_len
        self.max_images = max_images
        self.bases = [BASE] + [f"{PREFIX}{name}" for name in BEHAVIOURS if is_hostile]
        self.adapters = {f"{BASE}:maze-stopfix": BASE}
        self.answers: dict[str, Answer] = {}
        self.default: Answer = lambda _messages: "<action>('move', 0)</action>"
        self.requests: deque[dict[str, Any]] = deque(maxlen=_KEPT_REQUESTS)
        self.paths: deque[str] = deque(maxlen=_KEPT_REQUESTS)
        self.connection_count = 0
        self.open_count = 0
        self.most_open = 0
        self.pause_seconds = 0.0
        self.lost = 0
        self.port = 0
        self._behaviours: dict[str, str] = {}

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def behave(self, model: str, name: str | None) -> None:
        """`None`: well again."""
        if name is None:
            self._behaviours.pop(model, None)
        else:
            assert name in BEHAVIOURS, name
            self._behaviours[model] = name

    @asynccontextmanager
    async def serve(self, port: int = 0) -> AsyncIterator["FakeOpenAI"]:
        """Listens on a port of 127.0.0.1, a free one unless told; see `base_url`."""
        tasks: set[asyncio.Task[None]] = set()

        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.create_task(self._connection(reader, writer))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

        listener = await asyncio.start_server(accept, "127.0.0.1", port)
        self.port = listener.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            listener.close()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    @contextmanager
    def in_thread(self) -> Iterator["FakeOpenAI"]:
        """The same in an event loop of its own, for tests that have none."""
        started = threading.Event()
        stop: list[Callable[[], object]] = []

        async def main() -> None:
            ended, loop = asyncio.Event(), asyncio.get_running_loop()
            stop.append(lambda: loop.call_soon_threadsafe(ended.set))
            async with self.serve():
                started.set()
                await ended.wait()

        thread = threading.Thread(target=asyncio.run, args=(main(),), daemon=True)
        thread.start()
        assert started.wait(10)
        try:
            yield self
        finally:
            stop[0]()
            thread.join(10)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connection_count += 1
        try:
            while (exchange := await _read(reader, writer)) is not None:
                self.open_count += 1
                self.most_open = max(self.most_open, self.open_count)
                try:
                    await self._answer(exchange)
                finally:
                    self.open_count -= 1
                if exchange.headers.get("connection", "").lower() == "close":
                    break
        except HangUp:
            pass
        except (asyncio.IncompleteReadError, ConnectionError):
            self.lost += 1
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def _answer(self, exchange: Exchange) -> None:
        self.paths.append(f"{exchange.method} {exchange.path}")
        is_vllm = self.dialect is Dialect.VLLM
        if exchange.path == "/health" and is_vllm:
            await exchange.whole(200, b"")
        elif exchange.path == "/version" and is_vllm:
            await exchange.json(200, {"version": "0.32.0"})
        elif exchange.path.startswith("/v1") and not self._is_known(exchange):
            await self._refuse(exchange, shapes.unauthorized(self.dialect))
        elif exchange.path == "/v1/models":
            await self._listed(exchange)
        elif exchange.path == "/v1/chat/completions":
            await self._chat(exchange)
        else:
            await exchange.json(404, {"detail": "Not Found"})

    async def _listed(self, exchange: Exchange) -> None:
        if exchange.method != "GET":
            await exchange.json(405, {"detail": "Method Not Allowed"}, {"allow": "GET"})
            return
        if name := self._behaviours.get("models"):
            await BEHAVIOURS[name](exchange)
            return
        adapters = list(self.adapters.items())
        await exchange.json(
            200, shapes.models(self.dialect, self.bases, adapters, self.max_model_len)
        )

    async def _chat(self, exchange: Exchange) -> None:
        if exchange.method != "POST":
            await exchange.json(405, {"detail": "Method Not Allowed"}, {"allow": "POST"})
            return
        if exchange.body is not None:
            self.requests.append(exchange.body)
        model = exchange.model or self.bases[0]
        fault = self._fault(exchange, model)
        if self.latency_seconds:
            # Its own work is a part of the time that it is to take.
            spent = asyncio.get_running_loop().time() - exchange.began
            await asyncio.sleep(self.latency_seconds - spent)
        name = self._behaviours.get(model, model.removeprefix(PREFIX))
        if name in BEHAVIOURS and name != model and (model in self.bases or model in self.adapters):
            await BEHAVIOURS[name](exchange)
        elif fault is not None:
            await self._refuse(exchange, fault)
        else:
            await self._complete(exchange, model)

    async def _complete(self, exchange: Exchange, model: str) -> None:
        text = self.answers.get(model, self.default)(exchange.messages)
        most = 4 * int((exchange.body or {}).get("max_tokens") or self.max_model_len)
        finish = "length" if len(text) > most else "stop"
        options: dict[str, Any] = {
            "finish": finish,
            "prompt_tokens": _count_tokens(exchange.messages),
        }
        if not exchange.is_stream:
            await exchange.json(200, shapes.completion(model, text[:most], **options))
            return
        has_usage = exchange.has_usage
        pieces = list(shapes.chunks(model, text[:most], has_usage=has_usage, **options))
        await exchange.events(pieces, pause=lambda: self.pause_seconds)

    async def _refuse(self, exchange: Exchange, fault: Fault) -> None:
        await exchange.json(fault.status, fault.body, fault.headers)

    def _is_known(self, exchange: Exchange) -> bool:
        return self.key is None or exchange.headers.get("authorization") == f"Bearer {self.key}"

    def _fault(self, exchange: Exchange, model: str) -> Fault | None:
        """What is wrong with the request, in the order in which the real server looks."""
        if exchange.body is None:
            return shapes.invalid(self.dialect, ["body", "0"], "json_invalid", "JSON decode error")
        if not isinstance(exchange.body.get("messages"), list):
            return shapes.invalid(self.dialect, ["body", "messages"], "missing", "Field required")
        if model not in self.bases and model not in self.adapters:
            return shapes.unknown_model(self.dialect, model, [BASE])
        images = list(_images(exchange.messages))
        if len(images) > self.max_images:
            text = f"At most {self.max_images} image(s) may be provided in one prompt."
            return shapes.bad_request(self.dialect, f"{text} (parameter=image)", "image")
        problems = [said for url in images if (said := _image_problem(url))]
        if problems:
            return shapes.bad_request(self.dialect, problems[0])
        return self._too_long(exchange, len(images))

    def _too_long(self, exchange: Exchange, image_count: int) -> Fault | None:
        window, count = self.max_model_len, _count_tokens(exchange.messages)
        asked = (exchange.body or {}).get("max_tokens")
        if isinstance(asked, int) and asked > window:
            text = f"max_tokens={asked} cannot be greater than max_model_len={window}. Please "
            text += f"request fewer output tokens. (parameter=max_tokens, value={asked})"
            return shapes.bad_request(self.dialect, text, "max_tokens")
        if count <= window:
            return None
        if image_count:
            text = f"Input length ({count}) exceeds model's maximum context length ({window})."
            return shapes.bad_request(self.dialect, text)
        text = f"This model's maximum context length is {window} tokens. However, your prompt "
        text += f"contains at least {count} input tokens, which exceeds this limit even without "
        text += "any output tokens. Please reduce the length of the input prompt. "
        text += f"(parameter=input_tokens, value={count})"
        return shapes.bad_request(self.dialect, text, "input_tokens")


async def _read(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Exchange | None:
    """The next request; None once the other side said that there is none."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError as error:
        if not error.partial:
            return None
        raise
    began = asyncio.get_running_loop().time()
    first, *lines = head.rstrip("\r\n").split("\r\n")
    headers = {
        name.strip().lower(): value.strip()
        for name, _, value in (line.partition(":") for line in lines)
    }
    method, target, _ = first.split(" ", 2)
    body = await reader.readexactly(int(headers.get("content-length") or 0))
    return Exchange(method, target.partition("?")[0], headers, body, reader, writer, began)


def _parts(messages: Messages) -> Iterator[dict[str, Any]]:
    for message in messages:
        content = message.get("content") if isinstance(message, dict) else None
        if isinstance(content, str):
            yield {"type": "text", "text": content}
        else:
            yield from (part for part in content or () if isinstance(part, dict))


def _images(messages: Messages) -> Iterator[str]:
    for part in _parts(messages):
        if part.get("type") == "image_url":
            yield str((part.get("image_url") or {}).get("url") or "")


def _count_tokens(messages: Messages) -> int:
    texts = sum(len(str(part.get("text") or "")) for part in _parts(messages))
    return texts // 4 + _TOKENS_AN_IMAGE * sum(1 for _ in _images(messages))


def _image_problem(url: str) -> str | None:
    if not url.startswith("data:"):
        return "The URL must be either a HTTP, data or file URL."
    try:
        data = base64.b64decode(url.partition(",")[2], validate=True)
    except binascii.Error:
        return "Non-base64 digit found"
    if data.startswith(_IMAGE_HEADS):
        return None
    return "Failed to load image: cannot identify image file <_io.BytesIO object>"


def main() -> None:
    """Serves until it is killed; says where on its first line."""
    arguments = argparse.ArgumentParser(description="A fake server of models")
    arguments.add_argument("--port", type=int, default=0)
    arguments.add_argument("--latency", type=float, default=0.0, help="seconds an answer")
    arguments.add_argument("--dialect", choices=list(Dialect), default=Dialect.VLLM)
    given = arguments.parse_args()
    fake = FakeOpenAI(dialect=Dialect(given.dialect), latency_seconds=given.latency)

    async def run() -> None:
        async with fake.serve(given.port):
            print(fake.base_url, flush=True)  # noqa: T201 - a program's own output
            await asyncio.Event().wait()

    asyncio.run(run())


if __name__ == "__main__":
    main()
