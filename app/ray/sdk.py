"""Ray's Jobs SDK, in threads of our own. The only module that imports Ray, and only when called.

The SDK blocks, and neither it nor its HTTP library limits a request's time: a hung head would keep
the thread for ever. So each request gets a time-out, and each call a deadline.
"""

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, NoReturn

_THREADS = 2
_CONNECT_SECONDS = 5.0


class SdkRefusal(Exception):
    """Ray's answer was not 200; its text is often a traceback."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"{status}: {text}")
        self.status = status
        self.text = text


class JobsSdk:
    """Submit, stop and delete through `JobSubmissionClient`, for one address.

    Raises `SdkRefusal` for an answer that is not 200, `OSError` (all errors of `requests` are)
    without an answer, and `TimeoutError` some seconds after `seconds` at the latest.
    """

    def __init__(self, address: str, headers: Mapping[str, str], *, seconds: float) -> None:
        self._address = address
        self._headers = dict(headers)
        self._seconds = seconds
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="ray-jobs")

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
        # The request's own time-out ends the thread; the deadline also covers the wait for one.
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(self._seconds + _CONNECT_SECONDS):
            return await loop.run_in_executor(self._pool, self._work, work)

    def _work(self, work: Callable[[Any], Any]) -> Any:
        client = _client_class()(self._address, self._headers, (_CONNECT_SECONDS, self._seconds))
        return work(client)


@cache
def _client_class() -> Any:
    from ray.dashboard.modules.dashboard_sdk import SubmissionClient
    from ray.exceptions import AuthenticationError
    from ray.job_submission import JobSubmissionClient

    class TimedClient(JobSubmissionClient):
        """Asks exactly the given address.

        The parent's constructor lets RAY_API_SERVER_ADDRESS and RAY_ADDRESS replace the address,
        and makes two requests; the grandparent's does neither.
        """

        def __init__(
            self, address: str, headers: dict[str, str], timeout: tuple[float, float]
        ) -> None:
            SubmissionClient.__init__(self, address, headers=dict(headers))
            self._client_ray_version = ""
            self._timeout = timeout

        def _do_request(self, method: str, endpoint: str, **options: Any) -> Any:
            # The environment's proxy would see the token, and cannot reach a loopback address.
            options |= {"timeout": self._timeout, "proxies": {"http": None, "https": None}}
            try:
                return super()._do_request(method, endpoint, **options)
            except AuthenticationError as error:
                raise SdkRefusal(401, str(error)) from error

        def _raise_error(self, r: Any) -> NoReturn:
            raise SdkRefusal(r.status_code, r.text)

    return TimedClient
