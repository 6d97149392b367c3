"""A client that hands its requests straight to the transport."""

from typing import Any

import httpx


class DirectClient(httpx.AsyncClient):
    """httpx's client without what it does around each request: cookies, auth flows and hooks.

    None of these is used here, and together they take as long as the sending. A request that asks
    for redirects goes the long way.
    """

    def __init__(self, *, transport: httpx.AsyncBaseTransport, **options: Any) -> None:
        super().__init__(transport=transport, **options)
        self._straight = transport

    async def send(
        self, request: httpx.Request, *, stream: bool = False, **options: Any
    ) -> httpx.Response:
        """As httpx's own, which says what is raised."""
        if options.get("follow_redirects") is True or self.is_closed:
            return await super().send(request, stream=stream, **options)
        try:
            answer = await self._straight.handle_async_request(request)
        except httpx.RequestError as error:
            error.request = request
            raise
        answer.request = request
        if not stream:
            try:
                await answer.aread()
            except BaseException:
                await answer.aclose()
                raise
        return answer
