"""Servers on this machine, and a client that finds them by name."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest

from app.outgoing.client import guarded_client
from app.outgoing.rule_text import parse_rule
from app.outgoing.rules import HostRule
from app.outgoing.transport import Limits
from tests.fakes.dns import FakeDns
from tests.outgoing.servers import Server, serving

Connect = Callable[..., httpx.AsyncClient]
DNS = {"api.test": [["127.0.0.1"]], "other.test": [["127.0.0.1"]]}
QUICK = Limits(connect_seconds=2, read_seconds=2, total_seconds=5, body_bytes=100_000)


class Rules:
    """An allow-list that a test may change."""

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)

    async def __call__(self) -> list[HostRule]:
        return [parse_rule(text) for text in self.texts]


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with serving() as opened:
        yield opened


@pytest.fixture
async def connect() -> AsyncIterator[Connect]:
    """Makes guarded clients; by default `api.test` and `other.test` are allowed, on loopback."""
    opened: list[httpx.AsyncClient] = []

    def make(
        rules: Rules | None = None, dns: FakeDns | None = None, **options: Any
    ) -> httpx.AsyncClient:
        client = guarded_client(
            rules or Rules("api.test", "other.test"),
            resolver=dns or FakeDns(DNS),
            **({"limits": QUICK} | options),
        )
        opened.append(client)
        return client

    yield make
    for client in opened:
        await client.aclose()
