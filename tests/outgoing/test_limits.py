"""Answers that are too long, too slow, or packed to be so."""

import asyncio
import gzip
import tracemalloc
import zlib

import httpx
import pytest

from app.outgoing.errors import AnswerTooLarge, AnswerTooSlow, AnswerUnreadable, OutgoingError
from app.outgoing.transport import Limits
from tests.outgoing.conftest import Connect
from tests.outgoing.servers import Server, endless, plain, raw

SMALL = Limits(body_bytes=1_000, header_bytes=2_000, total_seconds=5)


async def test_a_body_up_to_the_limit(server: Server, connect: Connect) -> None:
    client = connect(limits=SMALL)
    server.answers |= {"/fits": plain(b"x" * 1_000), "/not": plain(b"x" * 1_001)}
    assert len((await client.get(f"http://api.test:{server.port}/fits")).content) == 1_000
    with pytest.raises(AnswerTooLarge, match=r"body is larger than 1,000 bytes"):
        await client.get(f"http://api.test:{server.port}/not")


async def test_a_length_beyond_the_limit_is_not_waited_for(
    server: Server, connect: Connect
) -> None:
    server.answers["/"] = raw(b"HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\n")
    client = connect(limits=SMALL)
    with pytest.raises(AnswerTooLarge):
        await client.get(f"http://api.test:{server.port}/")
    head = await client.head(f"http://api.test:{server.port}/")
    assert head.headers["content-length"] == "5000"


@pytest.mark.parametrize("encoding", ["", "gzip"])
async def test_an_endless_body(server: Server, connect: Connect, encoding: str) -> None:
    server.answers["/"] = endless(
        b"x" * 100 if not encoding else gzip.compress(b"", mtime=0), encoding=encoding
    )
    with pytest.raises(AnswerTooLarge, match="body"):
        await connect(limits=SMALL).get(f"http://api.test:{server.port}/")


async def test_an_endless_body_in_a_stream(server: Server, connect: Connect) -> None:
    server.answers["/"] = endless(b"x" * 100)
    got = bytearray()
    with pytest.raises(AnswerTooLarge):
        await _read_into(got, connect(limits=SMALL), f"http://api.test:{server.port}/")
    assert 0 < len(got) <= 1_000


async def test_a_packed_body(server: Server, connect: Connect) -> None:
    server.answers["/"] = plain(gzip.compress(b"hello" * 1_000, mtime=0), content_encoding="gzip")
    answer = await connect().get(f"http://api.test:{server.port}/")
    assert answer.text == "hello" * 1_000
    assert "content-encoding" not in answer.headers
    assert "accept-encoding: gzip\r\n" in server.heads[0].lower()


async def test_what_follows_the_packed_body_is_dropped(server: Server, connect: Connect) -> None:
    body = gzip.compress(b"hello", mtime=0) + gzip.compress(b" and more")
    server.answers["/"] = plain(body, content_encoding="gzip")
    assert (await connect().get(f"http://api.test:{server.port}/")).text == "hello"


async def test_a_bomb_takes_no_memory(server: Server, connect: Connect) -> None:
    packer = zlib.compressobj(9, wbits=31)
    bomb = b"".join(packer.compress(b"\0" * 1_000_000) for _ in range(200)) + packer.flush()
    server.answers["/"] = plain(bomb, content_encoding="gzip")
    client = connect(limits=Limits(body_bytes=1_000_000))
    tracemalloc.start()
    try:
        with pytest.raises(AnswerTooLarge):
            await client.get(f"http://api.test:{server.port}/")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 10_000_000


@pytest.mark.parametrize("encoding", ["br", "zstd", "deflate", "gzip, gzip", "x"])
async def test_a_packing_that_was_not_asked_for(
    server: Server, connect: Connect, encoding: str
) -> None:
    server.answers["/"] = plain(b"x", content_encoding=encoding)
    with pytest.raises(AnswerUnreadable, match="not asked for"):
        await connect().get(f"http://api.test:{server.port}/")


@pytest.mark.parametrize("body", [b"no gzip at all", gzip.compress(b"x" * 999, mtime=0)[:-5]])
async def test_damaged_packing(server: Server, connect: Connect, body: bytes) -> None:
    server.answers["/"] = plain(body, content_encoding="gzip")
    with pytest.raises(AnswerUnreadable):
        await connect().get(f"http://api.test:{server.port}/")


@pytest.mark.parametrize("size", [3_000, 300_000])
async def test_a_huge_head(server: Server, connect: Connect, size: int) -> None:
    server.answers["/"] = plain(x_long="x" * size)
    with pytest.raises(AnswerTooLarge, match="head is larger than 2,000 bytes"):
        await connect(limits=SMALL).get(f"http://api.test:{server.port}/")


async def test_many_headers(server: Server, connect: Connect) -> None:
    server.answers["/"] = plain(b"", **{f"x{n}": "x" for n in range(1_000)})
    with pytest.raises(AnswerTooLarge, match="head"):
        await connect(limits=SMALL).get(f"http://api.test:{server.port}/")


async def test_a_slow_drip_ends(server: Server, connect: Connect) -> None:
    server.answers["/"] = endless(b"x", pause=0.02)
    limits = Limits(read_seconds=5, total_seconds=0.3)
    with pytest.raises(AnswerTooSlow, match=r"within 0\.3 s"):
        await connect(limits=limits).get(f"http://api.test:{server.port}/")


async def test_heads_that_never_come_to_an_end(server: Server, connect: Connect) -> None:
    async def drip(writer: asyncio.StreamWriter) -> None:
        while True:
            writer.write(b"HTTP/1.1 103 Early Hints\r\n\r\n")
            await writer.drain()
            await asyncio.sleep(0.01)

    server.answers["/"] = drip
    with pytest.raises(AnswerTooSlow):
        await connect(limits=Limits(total_seconds=0.3)).get(f"http://api.test:{server.port}/")


async def test_silence_ends(server: Server, connect: Connect) -> None:
    server.answers["/"] = raw(b"")
    limits = Limits(read_seconds=0.1, total_seconds=None)
    with pytest.raises(httpx.ReadTimeout):
        await connect(limits=limits).get(f"http://api.test:{server.port}/")


async def test_an_answer_that_is_no_http(server: Server, connect: Connect) -> None:
    server.answers["/"] = raw(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")
    with pytest.raises(httpx.RemoteProtocolError):
        await connect().get(f"http://api.test:{server.port}/")


async def test_what_is_refused_can_be_handled_like_what_failed(
    server: Server, connect: Connect
) -> None:
    server.answers["/"] = plain(b"x" * 1_001)
    with pytest.raises(httpx.HTTPError) as caught:
        await connect(limits=SMALL).get(f"http://api.test:{server.port}/")
    assert isinstance(caught.value, OutgoingError)
    assert caught.value.request.url.host == "api.test"


async def _read_into(got: bytearray, client: httpx.AsyncClient, url: str) -> None:
    async with client.stream("GET", url) as answer:
        async for piece in answer.aiter_bytes():
            got += piece
