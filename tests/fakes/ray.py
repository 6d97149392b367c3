"""A dashboard that speaks the part of Ray's REST that Skydeck uses, as Ray 2.60 does.

Oddities kept on purpose: a used id is a 500 with a traceback, stopping a pending job answers
`stopped: true` and does nothing, changes that look like a browser's are 405.
"""

import asyncio
import itertools
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse

NODE_ID = "a" * 56
FINAL = ("SUCCEEDED", "FAILED", "STOPPED")


class FakeRay:
    """State of the pretended head; tests move jobs along with `start` and `finish`.

    `hold_submits` records jobs but never answers, as a head that hangs. Requests by a method in
    `failing` are a 503, as while the head's own store is away.
    """

    def __init__(self, *, token: str | None = "secret-t0ken") -> None:
        self.token = token
        self.version = "2.60.0"
        self.session_name = "session_2026-11-29_18-00-00_000000_1"
        self.jobs: dict[str, dict[str, Any]] = {}
        self.requests: list[tuple[str, str]] = []
        self.packages: dict[str, bytes] = {}
        self.logs: dict[str, bytes] = {}
        self.asked_lines: list[int] = []
        self.most_bytes = 100 * 1024**2
        self.hold_submits = False
        self.failing: set[str] = set()
        self.address = ""
        self._clock = itertools.count(1_795_975_200_000, 1000)
        self._released = asyncio.Event()

    def start(self, submission_id: str) -> None:
        """The job leaves the queue."""
        self.jobs[submission_id]["status"] = "RUNNING"
        self.jobs[submission_id]["driver_node_id"] = NODE_ID

    def finish(self, submission_id: str, status: str = "SUCCEEDED", **fields: Any) -> None:
        """The job ends; `fields` are set on its record."""
        self.jobs[submission_id] |= {"status": status, "end_time": next(self._clock)} | fields

    def restart(self) -> None:
        """The head starts anew: its jobs are forgotten."""
        self.jobs.clear()
        self.session_name += "1"

    @asynccontextmanager
    async def serve(self) -> AsyncIterator["FakeRay"]:
        """Listens on a free port of 127.0.0.1, at `address`."""
        server = uvicorn.Server(
            uvicorn.Config(self._app(), port=0, log_level="critical", lifespan="off")
        )
        running = asyncio.create_task(server.serve())
        while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(0.01)
        self.address = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
        try:
            yield self
        finally:
            self._released.set()
            server.should_exit = True
            await running

    def _app(self) -> FastAPI:
        app = FastAPI()
        app.middleware("http")(self._guard)
        app.get("/api/version")(self._version)
        app.get("/nodes")(self._nodes)
        app.get("/api/jobs/")(self._list)
        app.get("/api/v0/logs/file")(self._log)
        app.post("/api/jobs/")(self._submit)
        app.get("/api/jobs/{submission_id}")(self._get)
        app.get("/api/packages/gcs/{name}")(self._package)
        app.put("/api/packages/gcs/{name}")(self._put_package)
        app.delete("/api/jobs/{submission_id}")(self._delete)
        app.post("/api/jobs/{submission_id}/stop")(self._stop)
        return app

    async def _guard(self, request: Request, call_next: Any) -> Response:
        self.requests.append((request.method, request.url.path))
        given = request.headers.get("authorization")
        if self.token and given is None:
            return PlainTextResponse("Unauthorized: Missing authentication token", 401)
        if self.token and given != f"Bearer {self.token}":
            return PlainTextResponse("Forbidden: Invalid authentication token", 403)
        if request.method != "GET" and _is_browser(request):
            text = f"'{request.method}' method not allowed for browser traffic."
            return PlainTextResponse(text, 405)
        if request.method in self.failing:
            return _traceback(503, "RuntimeError: no GCS")
        answer: Response = await call_next(request)
        return answer

    async def _version(self) -> dict[str, str]:
        return {
            "version": "4",
            "ray_version": self.version,
            "ray_commit": "b7f4259e",
            "session_name": self.session_name,
        }

    async def _nodes(self) -> dict[str, Any]:
        node = {
            "hostname": "fake",
            "ip": "127.0.0.2",
            "cpu": 12.5,
            "mem": [8_000, 6_000, 25.0, 2_000],
            "raylet": {
                "nodeId": NODE_ID,
                "nodeManagerAddress": "127.0.0.2",
                "resourcesTotal": {"CPU": 2.0, "memory": 2e9, "node:127.0.0.2": 1.0},
                "isHeadNode": True,
                "sessionDir": f"/tmp/fake/{self.session_name}",
                "state": "ALIVE",
            },
        }
        return {"result": True, "msg": "Node summary fetched.", "data": {"summary": [node]}}

    async def _submit(self, request: Request) -> Response:
        body = await request.json()
        if not isinstance(body.get("entrypoint"), str):
            return _traceback(400, "TypeError: entrypoint must be a string")
        submission_id = body["submission_id"]
        if submission_id in self.jobs:
            text = f"Job with submission_id {submission_id} already exists. "
            return _traceback(500, f"ValueError: {text}Please use a different submission_id.")
        self.jobs[submission_id] = self._record(body)
        if self.hold_submits:
            await self._released.wait()
        return JSONResponse({"job_id": submission_id, "submission_id": submission_id})

    async def _list(self) -> list[dict[str, Any]]:
        return list(self.jobs.values())

    async def _log(self, submission_id: str, node_id: str, lines: int = 1000) -> Response:
        if node_id != NODE_ID or submission_id not in self.logs:
            return _traceback(500, "FileNotFoundError: no such log")
        self.asked_lines.append(lines)
        rows = re.findall(rb"[^\n]*\n|[^\n]+$", self.logs[submission_id])
        return PlainTextResponse(b"".join(rows if lines < 0 else rows[-lines:]))

    async def _package(self, name: str) -> Response:
        if name not in self.packages:
            return PlainTextResponse(f"Package gcs://{name} does not exist", 404)
        return Response()

    async def _put_package(self, name: str, request: Request) -> Response:
        body = await request.body()
        if len(body) > self.most_bytes:
            text = f"Maximum request body size {self.most_bytes} exceeded."
            return PlainTextResponse(text, 413)
        self.packages[name] = body
        return Response()

    async def _get(self, submission_id: str) -> Response:
        if submission_id not in self.jobs:
            return _missing(submission_id)
        return JSONResponse(self.jobs[submission_id])

    async def _stop(self, submission_id: str) -> Response:
        if submission_id not in self.jobs:
            return _missing(submission_id)
        job = self.jobs[submission_id]
        was_going = job["status"] not in FINAL
        if job["status"] == "RUNNING":
            self.finish(submission_id, "STOPPED", driver_exit_code=None)
        return JSONResponse({"stopped": was_going})

    async def _delete(self, submission_id: str) -> Response:
        if submission_id not in self.jobs:
            return _missing(submission_id)
        status = self.jobs[submission_id]["status"]
        if status not in FINAL:
            text = f"it is in a non-terminal state {status}."
            return _traceback(
                500, f"RuntimeError: Attempted to delete job '{submission_id}', but {text}"
            )
        del self.jobs[submission_id]
        return JSONResponse({"deleted": True})

    def _record(self, body: dict[str, Any]) -> dict[str, Any]:
        return {
            "type": "SUBMISSION",
            "job_id": None,
            "submission_id": body["submission_id"],
            "driver_info": None,
            "status": "PENDING",
            "entrypoint": body["entrypoint"],
            "message": "Job has not started yet.",
            "error_type": None,
            "start_time": next(self._clock),
            "end_time": None,
            "metadata": body.get("metadata"),
            "runtime_env": body.get("runtime_env"),
            "driver_agent_http_address": None,
            "driver_node_id": None,
            "driver_exit_code": None,
        }


def _is_browser(request: Request) -> bool:
    headers = request.headers
    return (
        headers.get("user-agent", "").startswith("Mozilla")
        or "origin" in headers
        or any(name.startswith("sec-fetch-") for name in headers)
    )


def _missing(submission_id: str) -> Response:
    return PlainTextResponse(f"Job {submission_id} does not exist", 404)


def _traceback(status: int, last: str) -> Response:
    text = f'Traceback (most recent call last):\n  File "job_head.py", line 1\n{last}\n'
    return PlainTextResponse(text, status)
