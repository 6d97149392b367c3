"""Servers that answer byte for byte as a test wants, also against the rules of HTTP."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Server:
    """`answers` by path; `heads` are the requests as they came, `hung_up` counts lost readers."""

    port: int = 0
    answers: dict[str, Answer] = field(default_factory=dict)
    heads: list[str] = field(default_factory=list)
    connections: int = 0
    hung_up: int = 0

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                self.heads.append(head)
                await self.answers[head.split()[1].partition("?")[0]](writer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            self.hung_up += 1
        finally:
            writer.close()


@asynccontextmanager
async def serving(tls: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
    """A server on a free port of 127.0.0.1."""
    server = Server()
    tasks: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(server._serve(reader, writer))
        tasks.add(task)

    listener = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=tls)
    server.port = listener.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listener.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def plain(body: bytes = b"ok", *, status: str = "200 OK", **headers: str) -> Answer:
    """A whole answer with its length."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        lines = [f"{name}: {value}" for name, value in named.items()]
        head = [f"HTTP/1.1 {status}", f"content-length: {len(body)}", *lines]
        writer.write("\r\n".join(head).encode() + b"\r\n\r\n" + body)

    return answer


def redirect(location: str, status: str = "302 Found") -> Answer:
    return plain(b"", status=status, location=location)


def endless(piece: bytes, *, pause: float = 0.0, encoding: str = "") -> Answer:
    """A body in chunks that never ends."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        packed = f"content-encoding: {encoding}\r\n" if encoding else ""
        writer.write(f"HTTP/1.1 200 OK\r\n{packed}transfer-encoding: chunked\r\n\r\n".encode())
        while True:
            writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            await writer.drain()
            await asyncio.sleep(pause)

    return answer


def raw(data: bytes) -> Answer:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(data)

    return answer
