"""Closes connections that send no request: uvicorn waits for ever for the first head.

All on the machine may connect, without the key; silent ones would take the places of all others.
"""

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from worker.serving.limits import HEAD_SECONDS


class HeadInTime(H11Protocol):
    """The head of a request arrives within `HEAD_SECONDS`, or the connection is closed.

    Between two requests uvicorn's own limit holds, until the first byte of the next.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._start()
        else:
            self._stop()

    def _start(self) -> None:
        # Bytes that trickle in do not move it.
        if self._deadline is None and not self.transport.is_closing():
            self._deadline = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

    def _stop(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
