"""The machine's own resolver: bounded in time, off the event loop, with plain errors."""

import socket
import threading
from collections.abc import Iterator
from ipaddress import ip_address
from typing import Any

import pytest

from app.outgoing.errors import NameNotResolved
from app.outgoing.resolve import SystemResolver


@pytest.fixture
def hung() -> Iterator[threading.Event]:
    """Set at the end, so that threads that wait for it end too."""
    event = threading.Event()
    yield event
    event.set()


async def test_it_knows_this_machine() -> None:
    assert ip_address("127.0.0.1") in await SystemResolver()("localhost")


async def test_all_addresses_are_given_once_and_without_zone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = [("fe80::1%eth0", 0, 0, 2), ("10.0.0.1", 0), ("10.0.0.1", 0), ("8.8.8.8", 0)]
    rows = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", place) for place in found]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_a, **_k: rows)
    addresses = await SystemResolver()("a.example")
    assert [str(address) for address in addresses] == ["fe80::1", "10.0.0.1", "8.8.8.8"]


async def test_a_name_server_that_hangs(
    monkeypatch: pytest.MonkeyPatch, hung: threading.Event
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_a, **_k: hung.wait(20))
    with pytest.raises(NameNotResolved, match=r"a\.example .* no answer within 0\.05 s"):
        await SystemResolver(0.05)("a.example")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (socket.gaierror(socket.EAI_NONAME, "Name or service not known"), "not known"),
        (UnicodeError("label too long"), "no name that DNS can hold"),
        (OSError("no sockets left"), "DNS failed"),
    ],
)
async def test_names_that_fail(
    monkeypatch: pytest.MonkeyPatch, error: Exception, said: str
) -> None:
    def fail(*_a: Any, **_k: Any) -> None:
        raise error

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    with pytest.raises(NameNotResolved, match=said):
        await SystemResolver()("a.example")
