"""One request to the fake, and the means to answer it byte for byte, also against the rules."""

import asyncio
import json
import socket
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

_REASONS = {200: "OK", 302: "Found", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found"}


class HangUp(Exception):
    """The connection is of no further use."""


@dataclass(slots=True)
class Exchange:
    """`body` is None where the request's was no JSON object; `began` is when its head had come."""

    method: str
    path: str
    headers: Mapping[str, str]
    raw: bytes
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    began: float
    body: dict[str, Any] | None = field(init=False)

    def __post_init__(self) -> None:
        try:
            read = json.loads(self.raw)
        except ValueError:
            read = None
        self.body = read if isinstance(read, dict) else None

    @property
    def model(self) -> str:
        return str((self.body or {}).get("model") or "")

    @property
    def messages(self) -> list[dict[str, Any]]:
        found = (self.body or {}).get("messages")
        return found if isinstance(found, list) else []

    @property
    def is_stream(self) -> bool:
        return bool((self.body or {}).get("stream"))

    @property
    def has_usage(self) -> bool:
        options = (self.body or {}).get("stream_options") or {}
        return bool(options.get("include_usage"))

    async def json(self, status: int, body: Any, headers: Mapping[str, str] | None = None) -> None:
        await self.whole(status, json.dumps(body).encode(), headers=headers)

    async def whole(
        self,
        status: int,
        body: bytes,
        *,
        kind: str = "application/json",
        headers: Mapping[str, str] | None = None,
        length: int | None = None,
    ) -> None:
        """A complete answer; `length` says another one than it is."""
        said = {"content-type": kind, "content-length": str(length or len(body))}
        self.head(status, said | dict(headers or {}))
        self.writer.write(body)
        await self.writer.drain()

    def head(self, status: int, headers: Mapping[str, str]) -> None:
        lines = [f"HTTP/1.1 {status} {_REASONS.get(status, 'Answer')}", "server: uvicorn"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        self.writer.write("\r\n".join(lines).encode() + b"\r\n\r\n")

    def begin_stream(self, kind: str = "text/event-stream; charset=utf-8") -> None:
        self.head(200, {"content-type": kind, "transfer-encoding": "chunked"})

    async def piece(self, data: bytes) -> None:
        self.writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        await self.writer.drain()

    async def event(self, data: Any) -> None:
        """One event of a stream; texts as they are, all else as JSON."""
        text = data if isinstance(data, str) else json.dumps(data)
        await self.piece(f"data: {text}\n\n".encode())

    async def events(
        self, events: Sequence[Any], *, is_done: bool = True, pause: Callable[[], float] = float
    ) -> None:
        """A whole stream; `pause` says how many seconds pass after each event."""
        self.begin_stream()
        for event in events:
            await self.event(event)
            await asyncio.sleep(pause())
        if is_done:
            await self.event("[DONE]")
        await self.end_stream()

    async def end_stream(self) -> None:
        self.writer.write(b"0\r\n\r\n")
        await self.writer.drain()

    async def hang(self) -> None:
        """Until the other side, or the fake, goes. Raises `HangUp`."""
        await self.writer.drain()
        await self.reader.read()
        raise HangUp

    def reset(self) -> None:
        """Ends the connection as a crashed machine does (TCP RST). Raises `HangUp`."""
        raw: socket.socket = self.writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()
        raise HangUp
