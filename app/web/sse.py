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
RECHECK_SECONDS = 5.0
_RECONNECT_MILLISECONDS = 1000
END = "end"

Look = Callable[[], Awaitable[Sequence[ServerSentEvent]]]
Stands = Callable[[], Awaitable[bool]]
Sleep = Callable[[float], Awaitable[None]]


async def poll(
    look: Look,
    *,
    stands: Stands,
    pause: float = PAUSE_SECONDS,
    lifetime: float = LIFETIME_SECONDS,
    sleep: Sleep = asyncio.sleep,
    now: Callable[[], float] = monotonic,
) -> AsyncIterator[ServerSentEvent]:
    """Calls `look` every `pause` seconds and passes on what it found, until an event named `end`.

    `look` opens and closes its own session. `stands` says every few seconds whether the reader may
    still look; the stream ends when not.
    """
    yield ServerSentEvent(comment="open", retry=_RECONNECT_MILLISECONDS)
    until, recheck_at = now() + lifetime, now() + RECHECK_SECONDS
    while now() < until:
        if now() >= recheck_at:
            if not await stands():
                return
            recheck_at = now() + RECHECK_SECONDS
        for event in await look():
            yield event
            if event.event == END:
                return
        await sleep(pause)
