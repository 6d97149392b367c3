"""Keeps a cluster that hangs or fails from taking the service's time.

Few calls at once may wait for a cluster; the next one is told so, nearly at once. After a failure
nothing is asked for a while: 1 s, then twice as long each time, 60 s at most, with jitter.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from app.ray.errors import RayError, RayRefused, RayUnreachable

_QUEUE_SECONDS = 2.0
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0


class Places:
    """At most `count` calls at once, for one cluster and kind of call."""

    def __init__(self, address: str, count: int, *, wait_seconds: float = _QUEUE_SECONDS) -> None:
        self._address = address
        self._free = asyncio.Semaphore(count)
        self._wait_seconds = wait_seconds

    @asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        """Raises `RayUnreachable` if none gets free in time: the calls before this one hang."""
        try:
            async with asyncio.timeout(self._wait_seconds):
                await self._free.acquire()
        except TimeoutError:
            cause = "it is still busy with earlier calls"
            raise RayUnreachable(self._address, cause) from None
        try:
            yield
        finally:
            self._free.release()


class Circuit:
    """Passes calls on, and after a failure the failure, until its pause is over.

    Then one call is let through; the others get the last failure until that one has an answer. A
    refusal of Ray is an answer, too. `clock` counts seconds from anywhere.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], float] | None = None,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._clock = clock
        self._jitter = jitter
        self._failure: RayError | None = None
        self._count = 0
        self._closed_until = 0.0
        self._is_trying = False

    @asynccontextmanager
    async def call(self) -> AsyncIterator[None]:
        """Raises the last failure while the circuit is open."""
        is_trial = self._failure is not None
        if self._failure is not None and (self._is_trying or self._now() < self._closed_until):
            raise self._failure.with_traceback(None)
        self._is_trying = is_trial
        try:
            yield
        except RayRefused:
            self._close()
            raise
        except RayError as failure:
            self._open(failure)
            raise
        else:
            self._close()
        finally:
            if is_trial:
                self._is_trying = False

    def _open(self, failure: RayError) -> None:
        pause = min(_FIRST_PAUSE * 2**self._count, _LONGEST_PAUSE)
        self._closed_until = self._now() + pause * (0.75 + 0.5 * self._jitter())
        self._count = min(self._count + 1, 10)
        self._failure = failure

    def _close(self) -> None:
        self._failure, self._count = None, 0

    def _now(self) -> float:
        return self._clock() if self._clock else asyncio.get_running_loop().time()
