"""Ray's Jobs SDK, in threads of our own. The only module that imports Ray, and only when called.

The SDK decides what is asked; how it is sent is ours. Its own HTTP library limits no request's
time, follows redirects, takes proxies and addresses from the environment, and connects to wherever
a name leads. So each request of the SDK goes back to the event loop, to the guarded client.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, NoReturn

import httpx

THREADS = 2
# Above the deadline of the request itself, which should end first.
_GRACE_SECONDS = 5.0

Send = Callable[[str, str, Any], Awaitable[httpx.Response]]
"""Sends method, path and JSON body; raises what the gateway raises."""


class SdkRefusal(Exception):
    """Ray's answer was not 200; its text is often a traceback."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"{status}: {text}")
        self.status = status
        self.text = text


class JobsSdk:
    """Submit, stop and delete through `JobSubmissionClient`, for one cluster.

    Raises `SdkRefusal` for an answer that is not 200, what `send` raises without one, and
    `TimeoutError` some seconds after `seconds` at the latest.
    """

    def __init__(self, send: Send, *, seconds: float) -> None:
        self._send = send
        self._seconds = seconds
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="ray-jobs")

    async def submit(
        self,
        *,
        submission_id: str,
        entrypoint: str,
        env_vars: Mapping[str, str],
        metadata: Mapping[str, str],
        package: str | None,
    ) -> None:
        runtime_env: dict[str, Any] = {"env_vars": dict(env_vars)} if env_vars else {}
        if package is not None:
            runtime_env["working_dir"] = f"gcs://{package}"
        await self._call(
            lambda client: client.submit_job(
                submission_id=submission_id,
                entrypoint=entrypoint,
                runtime_env=runtime_env or None,
                metadata=dict(metadata),
            )
        )

    async def stop(self, submission_id: str) -> bool:
        return bool(await self._call(lambda client: client.stop_job(submission_id)))

    async def delete(self, submission_id: str) -> None:
        await self._call(lambda client: client.delete_job(submission_id))

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def _call(self, work: Callable[[Any], Any]) -> Any:
        # The request's own deadline ends the thread; this one also covers the wait for one.
        loop = asyncio.get_running_loop()

        def send(method: str, path: str, body: Any) -> httpx.Response:
            sending = asyncio.run_coroutine_threadsafe(_sent(self._send, method, path, body), loop)
            try:
                return sending.result(self._seconds + _GRACE_SECONDS)
            finally:
                sending.cancel()

        async with asyncio.timeout(self._seconds + _GRACE_SECONDS):
            return await loop.run_in_executor(self._pool, lambda: work(_client_class()(send)))


async def _sent(send: Send, method: str, path: str, body: Any) -> httpx.Response:
    return await send(method, path, body)


@cache
def _client_class() -> Any:
    from ray.job_submission import JobSubmissionClient

    class SendingClient(JobSubmissionClient):
        """Sends through us, and makes no request by being made.

        The parents' constructors let RAY_API_SERVER_ADDRESS, RAY_ADDRESS and RAY_AUTH_MODE change
        where and as whom requests are made, and make two of their own.
        """

        def __init__(self, send: Callable[[str, str, Any], httpx.Response]) -> None:
            self._send = send
            self._default_metadata: dict[str, Any] = {}
            self._client_ray_version = ""
            # For the SDK's log lines alone.
            self._address = ""

        def _do_request(  # type: ignore[override]  # httpx's answers have what the SDK reads
            self, method: str, endpoint: str, *, json_data: Any = None, **_options: Any
        ) -> httpx.Response:
            return self._send(method, endpoint, json_data)

        def _raise_error(self, r: httpx.Response) -> NoReturn:  # type: ignore[override]
            raise SdkRefusal(r.status_code, r.text)

    return SendingClient
