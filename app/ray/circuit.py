"""Keeps a cluster that hangs or fails from taking the service's time.

Few calls at once may wait for a cluster; the next one is told so, nearly at once. After a failure
nothing is asked for a while: 1 s, then twice as long each time, 60 s at most, with jitter.
"""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from app.ray.errors import RayBusy, RayError, RayRefused

_HUNG_SECONDS = 5.0
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0


class Places:
    """At most `count` calls at once, for one cluster and kind of call.

    The next one waits while they go on; once all of them last longer than `hung_seconds`, whoever
    comes is told so at once.
    """

    def __init__(self, address: str, count: int, *, hung_seconds: float = _HUNG_SECONDS) -> None:
        self._address = address
        self._count = count
        self._hung_seconds = hung_seconds
        self._began: list[float] = []
        self._freed = asyncio.Condition()

    @asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        """Raises `RayBusy` if none gets free: the calls before this one hang."""
        began = await self._take()
        try:
            yield
        finally:
            self._began.remove(began)
            async with self._freed:
                self._freed.notify()

    async def _take(self) -> float:
        clock = asyncio.get_running_loop().time
        async with self._freed:
            while len(self._began) >= self._count:
                patience = max(self._began) + self._hung_seconds - clock()
                if patience <= 0:
                    raise RayBusy(self._address)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(patience):
                        await self._freed.wait()
            self._began.append(clock())
            return self._began[-1]


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
        except RayBusy:
            raise
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
