"""Live streams of server-sent events: polled from the database, ended after a while.

FastAPI frames the events and sends heartbeats. No session is held between two looks, and a
stream ends by itself so that a forgotten tab costs nothing for ever; browsers reconnect.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from time import monotonic

from fastapi.sse import ServerSentEvent

LIFETIME_SECONDS = 600.0
PAUSE_SECONDS = 1.0
_RECONNECT_MILLISECONDS = 1000
END = "end"

Look = Callable[[], Awaitable[Sequence[ServerSentEvent]]]
Sleep = Callable[[float], Awaitable[None]]


async def poll(
    look: Look,
    *,
    pause: float = PAUSE_SECONDS,
    lifetime: float = LIFETIME_SECONDS,
    sleep: Sleep = asyncio.sleep,
    now: Callable[[], float] = monotonic,
) -> AsyncIterator[ServerSentEvent]:
    """Calls `look` every `pause` seconds and passes on what it found, until an event named `end`.

    `look` opens and closes its own session.
    """
    yield ServerSentEvent(comment="open", retry=_RECONNECT_MILLISECONDS)
    until = now() + lifetime
    while now() < until:
        for event in await look():
            yield event
            if event.event == END:
                return
        await sleep(pause)
