"""What a server says that it serves (`GET /models`), in both dialects.

vLLM: `{"id", "parent", "max_model_len", "owned_by": "vllm"}`. Ray Serve LLM has no parent, but
`metadata.base_model_id`. Others have `id` alone.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx

from app.llm import faults
from app.llm.answers import parse
from app.llm.dialect import Dialect
from app.llm.limits import ChatLimits

LISTING = ChatLimits(connect_seconds=5, idle_seconds=10, total_seconds=15)
MOST_MODELS = 200
_LONGEST_ID = 200
_MOST_BYTES = 1024**2
_MOST_TOKENS = 2**31 - 1


@dataclass(frozen=True, slots=True)
class ServedModel:
    """`parent` is the id of the base that an adapter belongs to; None for bases."""

    id: str
    parent: str | None = None
    max_model_len: int | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """`models` in the server's order, bases and adapters; at most `MOST_MODELS` are kept."""

    models: Sequence[ServedModel]
    dialect: Dialect
    latency_seconds: float


async def list_models(http: httpx.AsyncClient, limits: ChatLimits = LISTING) -> Listing:
    """Asks once. Raises `ModelError`, and nothing else, within the limits."""
    host = http.base_url.netloc.decode("ascii")
    key = http.headers.get("authorization", "").removeprefix("Bearer ")
    started = time.monotonic()
    try:
        async with asyncio.timeout(limits.total_seconds), http.stream("GET", "models") as answer:
            body = bytearray()
            async for piece in answer.aiter_bytes():
                body += piece
                if len(body) > _MOST_BYTES:
                    raise faults.too_large(f"its list of models has over {_MOST_BYTES:,} bytes")
    except TimeoutError:
        raise faults.timed_out(host, limits.total_seconds) from None
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
        raise faults.of_failure(error, host) from error
    if answer.status_code != 200:
        raise faults.of_answer(answer.status_code, bytes(body), answer.headers, hidden=key)
    models, dialect = read_models(parse(bytes(body)))
    return Listing(models, dialect, time.monotonic() - started)


def read_models(body: Any) -> tuple[list[ServedModel], Dialect]:
    """What the answer lists; entries that name no model are left out. Raises `ModelError`."""
    data = body.get("data") if isinstance(body, Mapping) else None
    if not isinstance(data, list):
        raise faults.bad_answer("it lists no models, as an OpenAI-compatible server does")
    entries = [each for each in data if isinstance(each, Mapping) and _is_id(each.get("id"))]
    by_id = {each["id"]: _model(each) for each in reversed(entries)}
    models = [by_id[name] for name in dict.fromkeys(each["id"] for each in entries)]
    return models[:MOST_MODELS], _dialect(entries)


def _model(entry: Mapping[str, Any]) -> ServedModel:
    metadata = entry.get("metadata")
    rays = metadata.get("base_model_id") if isinstance(metadata, Mapping) else None
    parent = entry.get("parent") or rays
    length = entry.get("max_model_len")
    return ServedModel(
        id=entry["id"],
        parent=parent if _is_id(parent) and parent != entry["id"] else None,
        max_model_len=length if _is_length(length) else None,
    )


def _dialect(entries: Sequence[Mapping[str, Any]]) -> Dialect:
    if any("parent" in each and "max_model_len" in each for each in entries):
        return Dialect.VLLM
    metadata = (each.get("metadata") for each in entries)
    if any(isinstance(each, Mapping) and "model_id" in each for each in metadata):
        return Dialect.RAY
    return Dialect.OTHER


def _is_length(value: Any) -> bool:
    is_count = isinstance(value, int) and not isinstance(value, bool)
    return is_count and 0 < value <= _MOST_TOKENS


def _is_id(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _LONGEST_ID and value.isprintable()
