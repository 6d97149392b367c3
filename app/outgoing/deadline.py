"""The time of a whole call: connecting, redirects and the body together."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from app.outgoing.errors import AnswerTooSlow


class Deadline:
    """`seconds` from now; None means no end. Needs a running event loop."""

    def __init__(self, host: str, seconds: float | None) -> None:
        self._host = host
        self._seconds = seconds
        now = asyncio.get_running_loop().time()
        self._end = None if seconds is None else now + seconds

    @asynccontextmanager
    async def enforced(self) -> AsyncIterator[None]:
        """Cancels the block at the deadline. Raises `AnswerTooSlow`."""
        timer = asyncio.timeout_at(self._end)
        try:
            async with timer:
                yield
        except TimeoutError:
            if not timer.expired() or self._seconds is None:
                raise
            raise AnswerTooSlow(self._host, self._seconds) from None
