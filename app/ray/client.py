"""The real `RayGateway`: Ray's Jobs SDK for changes, its REST by httpx for reads."""

from collections.abc import AsyncIterable, Awaitable, Mapping
from typing import Any

import httpx

from app.outgoing.client import Limits, embedded_client
from app.ray import wire
from app.ray.errors import (
    JobIdTaken,
    JobNotFound,
    RayError,
    RayNotSignedIn,
    RayRefused,
    RayUnreachable,
    RayVersionTooOld,
)
from app.ray.gateway import ClusterInfo, JobInfo, NodeInfo, check_package, check_submission_id
from app.ray.sdk import JobsSdk, SdkRefusal

READ_SECONDS = 10.0
# A submit waits on the head for the node's agent; a loaded machine needs its time.
CHANGE_SECONDS = 60.0
_MOST_BYTES = 64 * 1024**2
OLDEST_RAY = (2, 9)
_NOT_SIGNED_IN = (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN)


class RayClient:
    """The embedded cluster by the address of its dashboard, such as `http://127.0.0.1:8265`.

    See `RayGateway` for the calls. Nothing in the environment can change the address or token.
    Raises `BadAddress` for one that is not on loopback: the SDK checks no address by itself.
    """

    def __init__(
        self,
        address: str,
        *,
        token: str | None = None,
        read_seconds: float = READ_SECONDS,
        change_seconds: float = CHANGE_SECONDS,
    ) -> None:
        self.address = address.rstrip("/")
        self._has_token = token is not None
        self._read_seconds, self._change_seconds = read_seconds, change_seconds
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        limits = Limits(
            connect_seconds=read_seconds, read_seconds=read_seconds, body_bytes=_MOST_BYTES
        )
        self._http = embedded_client(self.address, headers=headers, limits=limits)
        self._sdk = JobsSdk(self.address, headers, seconds=change_seconds)

    async def submit(
        self,
        *,
        submission_id: str,
        entrypoint: str,
        env_vars: Mapping[str, str] | None = None,
        metadata: Mapping[str, str] | None = None,
        package: str | None = None,
    ) -> JobInfo:
        check_submission_id(submission_id)
        try:
            await self._change(
                self._sdk.submit(
                    submission_id=submission_id,
                    entrypoint=entrypoint,
                    env_vars=env_vars or {},
                    metadata=metadata or {},
                    package=package and check_package(package),
                ),
                submission_id,
            )
        except (RayRefused, RayUnreachable) as error:
            return await self._existing(submission_id, entrypoint, error)
        return await self.get_job(submission_id)

    async def has_package(self, name: str) -> bool:
        return await self._ask(f"/api/packages/gcs/{check_package(name)}") is not None

    async def put_package(
        self, name: str, pieces: AsyncIterable[bytes], *, size_bytes: int
    ) -> None:
        try:
            answer = await self._http.put(
                f"/api/packages/gcs/{check_package(name)}",
                content=pieces,
                headers={"Content-Length": str(size_bytes)},
                timeout=httpx.Timeout(self._change_seconds, connect=self._read_seconds),
            )
        except httpx.HTTPError as error:
            raise RayUnreachable(self.address, _cause(error)) from error
        if answer.status_code == httpx.codes.REQUEST_ENTITY_TOO_LARGE:
            raise RayRefused(
                f"The job's package of {size_bytes:,} bytes is too large for Ray: leave data out "
                "of the code.",
                detail=wire.last_line(answer.text),
            )
        self._require_success(answer)

    async def get_job(self, submission_id: str) -> JobInfo:
        found = await self.find_job(submission_id)
        if found is None:
            raise JobNotFound(submission_id)
        return found

    async def find_job(self, submission_id: str) -> JobInfo | None:
        answer = await self._get(f"/api/jobs/{check_submission_id(submission_id)}")
        return None if answer is None else wire.job_info(answer)

    async def stop(self, submission_id: str) -> bool:
        check_submission_id(submission_id)
        return bool(await self._change(self._sdk.stop(submission_id), submission_id))

    async def delete(self, submission_id: str) -> None:
        check_submission_id(submission_id)
        try:
            await self._change(self._sdk.delete(submission_id), submission_id)
        except JobNotFound:
            return

    async def cluster(self) -> ClusterInfo:
        answer = await self._get("/api/version")
        if answer is None or "session_name" not in answer:
            raise RayVersionTooOld((answer or {}).get("ray_version", "unknown"), _dotted())
        if tuple(int(part) for part in answer["ray_version"].split(".")[:2]) < OLDEST_RAY:
            raise RayVersionTooOld(answer["ray_version"], _dotted())
        return wire.cluster_info(answer, await self.nodes())

    async def nodes(self) -> list[NodeInfo]:
        answer = await self._get("/nodes", view="summary")
        return [] if answer is None else wire.node_list(answer)

    async def aclose(self) -> None:
        self._sdk.close()
        await self._http.aclose()

    async def _existing(self, submission_id: str, entrypoint: str, cause: RayError) -> JobInfo:
        """The job that this or an earlier submit left behind, or the cause.

        While nobody can tell, the outcome is open: `RayUnreachable`, never a refusal.
        """
        found = await self.find_job(submission_id)
        if found is None:
            raise cause
        if found.entrypoint != entrypoint:
            raise JobIdTaken(submission_id) from cause
        return found

    async def _get(self, path: str, **query: str) -> Any:
        """The JSON of an answer, or None for 404."""
        answer = await self._ask(path, **query)
        try:
            return None if answer is None else answer.json()
        except ValueError as error:
            raise RayUnreachable(self.address, "the answer is not Ray's") from error

    async def _ask(self, path: str, **query: str) -> httpx.Response | None:
        """A good answer, or None for 404."""
        try:
            answer = await self._http.get(path, params=query)
        except httpx.HTTPError as error:
            raise RayUnreachable(self.address, _cause(error)) from error
        if answer.status_code == httpx.codes.NOT_FOUND:
            return None
        self._require_success(answer)
        return answer

    def _require_success(self, answer: httpx.Response) -> None:
        if answer.status_code in _NOT_SIGNED_IN:
            raise RayNotSignedIn(self.address, has_token=self._has_token)
        if not answer.is_success:
            detail = wire.last_line(answer.text)
            raise RayUnreachable(self.address, f"error {answer.status_code}: {detail}")

    async def _change(self, call: Awaitable[Any], submission_id: str) -> Any:
        try:
            return await call
        except TimeoutError as error:
            raise RayUnreachable(self.address, "no answer in time") from error
        except OSError as error:  # all of `requests`' own errors are OSErrors
            raise RayUnreachable(self.address, _cause(error)) from error
        except SdkRefusal as error:
            raise self._refusal(error, submission_id) from error

    def _refusal(self, error: SdkRefusal, submission_id: str) -> RayError:
        if error.status in _NOT_SIGNED_IN:
            return RayNotSignedIn(self.address, has_token=self._has_token)
        if error.status == httpx.codes.NOT_FOUND:
            return JobNotFound(submission_id)
        # A used id answers 500 with a traceback, not 409 (Ray 2.60).
        if f"submission_id {submission_id} already exists" in error.text:
            return JobIdTaken(submission_id)
        detail = wire.last_line(error.text)
        return RayRefused(f"Ray refused job {submission_id}: {detail}", detail=detail)


def _cause(error: Exception) -> str:
    return type(error).__name__ + (f": {error}" if str(error) else "")


def _dotted() -> str:
    return ".".join(str(part) for part in OLDEST_RAY)
