"""Names to addresses, in bounded time and off the event loop."""

import asyncio
import socket
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from ipaddress import ip_address
from typing import Protocol

from app.outgoing.errors import NameNotResolved
from app.outgoing.zones import IPAddress

DNS_SECONDS = 5.0
_THREADS = 8


class Resolver(Protocol):
    async def __call__(self, name: str) -> list[IPAddress]:
        """All addresses of a name, best first, at least one. Raises `NameNotResolved`."""
        ...


class SystemResolver:
    """Asks as the machine is set up: its hosts file, its DNS servers."""

    def __init__(self, seconds: float = DNS_SECONDS) -> None:
        self._seconds = seconds

    async def __call__(self, name: str) -> list[IPAddress]:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._seconds):
                found = await loop.run_in_executor(_pool(), _look_up, name)
        except TimeoutError:
            raise NameNotResolved(name, f"no answer within {self._seconds:g} s") from None
        except (OSError, UnicodeError) as error:
            raise NameNotResolved(name, _cause(error)) from error
        return found


def system_resolver() -> Resolver:
    """The one that routes ask for."""
    return SystemResolver()


@cache
def _pool() -> ThreadPoolExecutor:
    """Threads of its own: names that hang must not hold up other work in threads."""
    return ThreadPoolExecutor(_THREADS, thread_name_prefix="outgoing-dns")


def _look_up(name: str) -> list[IPAddress]:
    found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    texts = (str(entry[4][0]).partition("%")[0] for entry in found)
    return list(dict.fromkeys(ip_address(text) for text in texts))


def _cause(error: Exception) -> str:
    if isinstance(error, socket.gaierror):
        return (error.strerror or "unknown name").lower()
    return "it is no name that DNS can hold" if isinstance(error, UnicodeError) else "DNS failed"
