"""Errors with a status, silence, broken connections, and far too much of everything."""

import asyncio
import gzip
import json

from tests.fakes import openai_dialects as shapes
from tests.fakes.openai_behaviour import RIGHT, answer, behaviour
from tests.fakes.openai_exchange import Exchange, HangUp

DRIP_SECONDS = 0.2
RETRY_AFTER_SECONDS = 7
_MEGABYTE = 1024**2
_HTML = b"<!doctype html><html><script>alert(1)</script><h1>502 Bad Gateway</h1><hr>nginx</html>"
_TRACEBACK = (
    "\x1b[36mray::ServeReplica:LLMServer.handle_request()\x1b[39m (pid=812, ip=10.0.3.7)\n"
    + '  File "/home/ray/anaconda3/lib/python3.11/site-packages/vllm/lora/worker.py", line 91\n'
    * 30
    + "ValueError: LoRA rank 64 is greater than max_lora_rank 32."
)


# Errors with a status, in the forms that servers and the proxies before them use.


@behaviour
async def _error_object(exchange: Exchange) -> None:
    text = "EngineCore encountered an issue. See stack trace (above) for the root cause."
    await exchange.json(500, shapes.error(text, "InternalServerError", None, 500))


@behaviour
async def _error_string(exchange: Exchange) -> None:
    await exchange.json(500, {"error": "out of memory"})


@behaviour
async def _error_detail(exchange: Exchange) -> None:
    await exchange.json(503, {"detail": "Service is starting"})


@behaviour
async def _error_detail_list(exchange: Exchange) -> None:
    problem = {"type": "extra_forbidden", "loc": ["body", "top_k"], "msg": "Extra inputs"}
    await exchange.json(422, {"detail": [problem]})


@behaviour
async def _ray_wrapped(exchange: Exchange) -> None:
    text = "At most 4 image(s) may be provided in one prompt. (parameter=image)"
    await exchange.json(400, shapes.bad_request(shapes.Dialect.RAY, text).body)


@behaviour
async def _ray_traceback(exchange: Exchange) -> None:
    await exchange.json(500, shapes.error(_TRACEBACK, "OpenAIHTTPException", None, 500))


@behaviour
async def _html_500(exchange: Exchange) -> None:
    await exchange.whole(500, _HTML, kind="text/html")


@behaviour
async def _html_200(exchange: Exchange) -> None:
    await exchange.whole(200, _HTML, kind="text/html")


@behaviour
async def _huge_error(exchange: Exchange) -> None:
    await exchange.json(500, {"error": {"message": "no " * 3 * _MEGABYTE}})


@behaviour
async def _echo_key(exchange: Exchange) -> None:
    given = exchange.headers.get("authorization", "")
    await exchange.json(400, {"error": f"cannot route request with header authorization: {given}"})


@behaviour
async def _unauthorized(exchange: Exchange) -> None:
    await exchange.json(401, {"error": "Unauthorized"})


@behaviour
async def _forbidden(exchange: Exchange) -> None:
    await exchange.json(403, {"detail": "Not for you"})


@behaviour
async def _unknown_adapter(exchange: Exchange) -> None:
    fault = shapes.unknown_model(shapes.Dialect.RAY, "visgym-qwen3vl:gone", ["visgym-qwen3vl"])
    await exchange.json(fault.status, fault.body)


@behaviour
async def _context_overflow(exchange: Exchange) -> None:
    text = (
        "This model's maximum context length is 6000 tokens. However, your prompt contains at "
        "least 6001 input tokens, which exceeds this limit even without any output tokens."
    )
    await exchange.json(400, shapes.error(text, "BadRequestError", "input_tokens", 400))


@behaviour
async def _context_overflow_image(exchange: Exchange) -> None:
    text = "Input length (6051) exceeds model's maximum context length (6000)."
    await exchange.json(400, shapes.error(text, "BadRequestError", None, 400))


@behaviour
async def _rate_limited(exchange: Exchange) -> None:
    wait = {"retry-after": str(RETRY_AFTER_SECONDS)}
    await exchange.json(429, {"error": {"message": "Rate limit reached", "code": "tpm"}}, wait)


@behaviour
async def _rate_limited_date(exchange: Exchange) -> None:
    wait = {"retry-after": "Fri, 31 Dec 9999 23:59:59 GMT"}
    await exchange.json(429, {"error": "slow down"}, wait)


@behaviour
async def _overloaded(exchange: Exchange) -> None:
    await exchange.whole(503, b"", headers={"retry-after": "nonsense"})


# Silence and slowness.


@behaviour
async def _hang_before(exchange: Exchange) -> None:
    await exchange.hang()


@behaviour
async def _hang_inside(exchange: Exchange) -> None:
    if exchange.is_stream:
        exchange.begin_stream()
        for chunk in _chunks(exchange)[:3]:
            await exchange.event(chunk)
    else:
        exchange.head(200, {"content-type": "application/json", "content-length": "900"})
        exchange.writer.write(b'{"id":"chatcmpl-1","choices":[')
    await exchange.hang()


@behaviour
async def _slow_drip(exchange: Exchange) -> None:
    """A byte now and then, each in time, the whole never."""
    exchange.begin_stream()
    for byte in json.dumps(shapes.completion("m", RIGHT * 40, finish="stop", prompt_tokens=1)):
        await exchange.piece(byte.encode())
        await asyncio.sleep(DRIP_SECONDS)
    await exchange.end_stream()


@behaviour
async def _continue_flood(exchange: Exchange) -> None:
    while True:
        exchange.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        await exchange.writer.drain()
        await asyncio.sleep(DRIP_SECONDS / 10)


@behaviour
async def _keep_alive_comments(exchange: Exchange) -> None:
    """What a proxy sends so that nobody hangs up; the model itself says nothing."""
    exchange.begin_stream()
    while True:
        await exchange.piece(b": keep-alive\n\n")
        await asyncio.sleep(DRIP_SECONDS)


# Broken connections.


@behaviour
async def _reset_before(exchange: Exchange) -> None:
    exchange.reset()


@behaviour
async def _reset_inside(exchange: Exchange) -> None:
    exchange.begin_stream()
    for chunk in _chunks(exchange)[:3]:
        await exchange.event(chunk)
    await asyncio.sleep(0.05)
    exchange.reset()


@behaviour
async def _close_before(_exchange: Exchange) -> None:
    raise HangUp


@behaviour
async def _close_inside(exchange: Exchange) -> None:
    await exchange.whole(200, b'{"choices": [', length=900)
    raise HangUp


@behaviour
async def _no_http(exchange: Exchange) -> None:
    exchange.writer.write(b"SSH-2.0-OpenSSH_9.6\r\n\r\n")
    await exchange.writer.drain()
    raise HangUp


# Too much.


@behaviour
async def _huge_answer(exchange: Exchange) -> None:
    await answer(exchange, "move right " * _MEGABYTE)


@behaviour
async def _huge_event(exchange: Exchange) -> None:
    exchange.begin_stream()
    await exchange.piece(b"data: ")
    for _ in range(160):
        await exchange.piece(b"x" * 65_536)
    await exchange.end_stream()


@behaviour
async def _endless_stream(exchange: Exchange) -> None:
    exchange.begin_stream()
    _, piece, *_ = shapes.chunks(exchange.model, "again " * 200_000, finish="stop", prompt_tokens=1)
    while True:
        await exchange.event(piece)


@behaviour
async def _gzip_bomb(exchange: Exchange) -> None:
    packed = gzip.compress(b"[" + b" " * (40 * _MEGABYTE), compresslevel=1)
    await exchange.whole(200, packed, headers={"content-encoding": "gzip"})


@behaviour
async def _gzip_damaged(exchange: Exchange) -> None:
    packed = gzip.compress(b'{"choices": []}')[:-9]
    await exchange.whole(200, packed, headers={"content-encoding": "gzip"})


@behaviour
async def _huge_head(exchange: Exchange) -> None:
    await exchange.json(200, {}, {f"x-{number}": "y" * 1_000 for number in range(200)})


@behaviour
async def _deep_json(exchange: Exchange) -> None:
    await exchange.whole(200, b"[" * 100_000 + b"]" * 100_000)


@behaviour
async def _long_number(exchange: Exchange) -> None:
    await exchange.whole(200, b'{"choices": ' + b"9" * 100_000 + b"}")


def _chunks(exchange: Exchange) -> list[shapes.Json]:
    return list(shapes.chunks(exchange.model, RIGHT, finish="stop", prompt_tokens=1))
