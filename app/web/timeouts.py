"""Bounds the time in which a request's body must arrive: slow senders hold nothing open."""

import asyncio
import re

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

BODY_SECONDS = 30.0
UPLOAD_SECONDS = 900.0
_UPLOADS = re.compile(r"/api/v1/code|/projects/[^/]+/code")
_REFUSAL = "the request's body took too long to arrive; nothing was changed; send it again"


class BodyInTime:
    """ASGI middleware: a body that is not there within `seconds` of its first wait ends in 408.

    Uploads of code, which may be large, have `upload_seconds`.
    Only the body counts: afterwards a stream may last, and may wait for the reader to go.
    """

    def __init__(
        self,
        app: ASGIApp,
        seconds: float = BODY_SECONDS,
        upload_seconds: float = UPLOAD_SECONDS,
    ) -> None:
        self.app = app
        self.seconds = seconds
        self.upload_seconds = upload_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            is_upload = _UPLOADS.fullmatch(scope["path"]) is not None
            seconds = self.upload_seconds if is_upload else self.seconds
            receive = _Body(receive, seconds).receive
        await self.app(scope, receive, send)


class _Body:
    def __init__(self, receive: Receive, seconds: float) -> None:
        self._receive = receive
        self._seconds = seconds
        self._deadline: float | None = None
        self._is_complete = False

    async def receive(self) -> Message:
        """The next message. Raises `HTTPException`, which each surface answers in its own way."""
        if self._is_complete:
            return await self._receive()
        self._deadline = self._deadline or asyncio.get_running_loop().time() + self._seconds
        try:
            async with asyncio.timeout_at(self._deadline):
                message = await self._receive()
        except TimeoutError:
            raise HTTPException(408, _REFUSAL, {"Connection": "close"}) from None
        self._is_complete = not message.get("more_body", False)
        return message
