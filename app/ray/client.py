"""The real `RayGateway`: Ray's Jobs SDK for changes, its REST by httpx for reads."""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import Any, Self

import httpx

from app.outgoing.client import Limits, embedded_client
from app.ray import wire
from app.ray.circuit import Circuit, Places
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
from app.ray.login import FixedLogin, Login, Logins
from app.ray.sdk import THREADS, JobsSdk, SdkRefusal

READ_SECONDS = 10.0
# A submit waits on the head for the node's agent; a loaded machine needs its time.
CHANGE_SECONDS = 60.0
MOST_BYTES = 64 * 1024**2
OLDEST_RAY = (2, 9)
_READS_AT_ONCE = 4
_NOT_SIGNED_IN = (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN)


class RayClient:
    """One cluster. See `RayGateway` for the calls; nothing in the environment changes them.

    `http` is a guarded client of this cluster's own, closed with it. Without a `circuit` each call
    is made, however the last one ended.
    """

    def __init__(
        self,
        logins: Logins,
        http: httpx.AsyncClient,
        *,
        circuit: Circuit | None = None,
        read_seconds: float = READ_SECONDS,
        change_seconds: float = CHANGE_SECONDS,
    ) -> None:
        self.address = logins.address
        self._logins = logins
        self._http = http
        self._circuit = circuit
        self._read_seconds, self._change_seconds = read_seconds, change_seconds
        self._sdk = JobsSdk(self._send_change, seconds=change_seconds)
        self._reads = Places(self.address, _READS_AT_ONCE)
        # As many as threads: nobody waits for a thread that hangs.
        self._changes = Places(self.address, THREADS)

    @classmethod
    def embedded(
        cls,
        address: str,
        *,
        token: str | None = None,
        read_seconds: float = READ_SECONDS,
        change_seconds: float = CHANGE_SECONDS,
    ) -> Self:
        """The head that we started, by its dashboard's address, such as `http://127.0.0.1:8265`.

        Raises `BadAddress` for one that is not on loopback.
        """
        limits = Limits(
            connect_seconds=read_seconds, read_seconds=change_seconds, body_bytes=MOST_BYTES
        )
        return cls(
            FixedLogin(address, token),
            embedded_client(address, limits=limits),
            read_seconds=read_seconds,
            change_seconds=change_seconds,
        )

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
        async with self._reading():
            return await self._ask(f"/api/packages/gcs/{check_package(name)}") is not None

    async def put_package(
        self, name: str, pieces: AsyncIterable[bytes], *, size_bytes: int
    ) -> None:
        path = f"/api/packages/gcs/{check_package(name)}"
        # A body that comes in pieces can be sent once. A new session is not needed here: nobody
        # uploads without having asked just before whether the package is there.
        async with self._changing():
            answer = await self._sent(
                await self._logins.current(),
                "PUT",
                path,
                seconds=self._change_seconds,
                content=pieces,
                headers={"Content-Length": str(size_bytes)},
            )
            if answer.status_code == httpx.codes.REQUEST_ENTITY_TOO_LARGE:
                raise RayRefused(
                    f"The job's package of {size_bytes:,} bytes is too large for Ray: leave data "
                    "out of the code.",
                    detail=wire.last_line(answer.text),
                )
            self._require_success(answer)

    async def get_job(self, submission_id: str) -> JobInfo:
        found = await self.find_job(submission_id)
        if found is None:
            raise JobNotFound(submission_id)
        return found

    async def find_job(self, submission_id: str) -> JobInfo | None:
        async with self._reading():
            answer = await self._get(f"/api/jobs/{check_submission_id(submission_id)}")
        return None if answer is None else wire.job_info(answer)

    async def list_jobs(self) -> list[JobInfo]:
        async with self._reading():
            return wire.job_list(await self._get("/api/jobs/") or [])

    async def tail_log(self, job: JobInfo, *, lines: int) -> bytes:
        if job.driver_node_id is None:
            return b""
        async with self._reading():
            answer = await self._ask(
                "/api/v0/logs/file",
                node_id=job.driver_node_id,
                submission_id=job.submission_id,
                lines=str(lines),
            )
        return b"" if answer is None else answer.content

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
        async with self._reading():
            answer = await self._get("/api/version")
        if answer is None or "session_name" not in answer:
            raise RayVersionTooOld((answer or {}).get("ray_version", "unknown"), _dotted())
        if wire.version(answer["ray_version"]) < OLDEST_RAY:
            raise RayVersionTooOld(answer["ray_version"], _dotted())
        return wire.cluster_info(answer, await self.nodes())

    async def nodes(self) -> list[NodeInfo]:
        async with self._reading():
            answer = await self._get("/nodes", view="summary")
        return [] if answer is None else wire.node_list(answer)

    async def aclose(self) -> None:
        self._sdk.close()
        await self._logins.aclose()
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
        answer = await self._ask(path, is_json=True, **query)
        try:
            return None if answer is None else answer.json()
        except ValueError as error:
            raise RayUnreachable(self.address, "the answer is not Ray's") from error

    async def _ask(
        self, path: str, *, is_json: bool = False, **query: str
    ) -> httpx.Response | None:
        """A good answer, or None for 404."""
        answer = await self._signed_in(
            "GET", path, is_json=is_json, seconds=self._read_seconds, params=query
        )
        if answer.status_code == httpx.codes.NOT_FOUND:
            return None
        self._require_success(answer)
        return answer

    async def _send_change(self, method: str, path: str, body: Any) -> httpx.Response:
        """For the SDK."""
        answer = await self._signed_in(
            method, path, is_json=True, seconds=self._change_seconds, json=body
        )
        if _is_signed_out(answer, is_json=True):
            raise RayNotSignedIn(self._logins.not_signed_in())
        return answer

    async def _signed_in(
        self, method: str, path: str, *, is_json: bool, seconds: float, **options: Any
    ) -> httpx.Response:
        """Sends it, and once more with a new session where the gateway did not let it through."""
        login = await self._logins.current()
        answer = await self._sent(login, method, path, seconds=seconds, **options)
        if not _is_signed_out(answer, is_json=is_json):
            return answer
        renewed = await self._logins.renew(login)
        if renewed is None:
            return answer
        return await self._sent(renewed, method, path, seconds=seconds, **options)

    async def _sent(
        self, login: Login, method: str, path: str, *, seconds: float, **options: Any
    ) -> httpx.Response:
        headers = {**login.headers, **options.pop("headers", {})}
        try:
            async with asyncio.timeout(seconds):
                return await self._http.request(
                    method, f"{login.base_url}{path}", headers=headers, **options
                )
        except TimeoutError as error:
            raise RayUnreachable(self.address, "no answer in time") from error
        except httpx.HTTPError as error:
            raise RayUnreachable(self.address, _cause(error)) from error

    def _require_success(self, answer: httpx.Response) -> None:
        if _is_signed_out(answer, is_json=False):
            raise RayNotSignedIn(self._logins.not_signed_in())
        if not answer.is_success:
            detail = wire.last_line(answer.text)
            raise RayUnreachable(self.address, f"error {answer.status_code}: {detail}")

    async def _change(self, call: Coroutine[Any, Any, Any], submission_id: str) -> Any:
        try:
            async with self._changing():
                try:
                    return await call
                except TimeoutError as error:
                    raise RayUnreachable(self.address, "no answer in time") from error
                except SdkRefusal as error:
                    raise self._refusal(error, submission_id) from error
        finally:
            # Where no place was free, it was never started.
            call.close()

    @asynccontextmanager
    async def _reading(self) -> AsyncIterator[None]:
        async with self._guarded(self._reads):
            yield

    @asynccontextmanager
    async def _changing(self) -> AsyncIterator[None]:
        async with self._guarded(self._changes):
            yield

    @asynccontextmanager
    async def _guarded(self, places: Places) -> AsyncIterator[None]:
        if self._circuit is None:
            async with places.one():
                yield
        else:
            async with self._circuit.call(), places.one():
                yield

    def _refusal(self, error: SdkRefusal, submission_id: str) -> RayError:
        if error.status == httpx.codes.NOT_FOUND:
            return JobNotFound(submission_id)
        # A used id answers 500 with a traceback, not 409 (Ray 2.60).
        if f"submission_id {submission_id} already exists" in error.text:
            return JobIdTaken(submission_id)
        detail = wire.last_line(error.text)
        return RayRefused(f"Ray refused job {submission_id}: {detail}", detail=detail)


def _is_signed_out(answer: httpx.Response, *, is_json: bool) -> bool:
    """Whether a gateway in front of Ray answered instead of Ray: 401, 403, a way to sign in."""
    if answer.status_code in _NOT_SIGNED_IN or answer.is_redirect:
        return True
    kind = answer.headers.get("content-type", "")
    is_wrong = "json" not in kind if is_json else kind.startswith("text/html")
    return answer.is_success and is_wrong


def _cause(error: Exception) -> str:
    return type(error).__name__ + (f": {error}" if str(error) else "")


def _dotted() -> str:
    return ".".join(str(part) for part in OLDEST_RAY)
