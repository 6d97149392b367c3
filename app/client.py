"""The Python client of the JSON API.

    with Client("http://127.0.0.1:8000", token) as skydeck:
        experiment = skydeck.create_experiment("Does rank matter?", "embedded-maze-grpo")
        run = skydeck.create_run(experiment["id"], overrides={"trainer.seed": 1})

Answers are the API's objects as dictionaries; their fields are in its OpenAPI description.
"""

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit
from uuid import uuid4
from weakref import WeakSet

import httpx
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_exponential

from app import __version__
from app.client_adapters import AdapterCalls
from app.client_clusters import ClusterCalls
from app.client_errors import error_of
from app.client_evaluations import EvaluationCalls
from app.client_experiments import ExperimentCalls
from app.client_log import MetricLog
from app.client_metrics import JSON_BODY, MetricCalls
from app.errors import NotSignedIn, SkydeckError, Unavailable

Json = dict[str, Any]
ENDED = frozenset({"succeeded", "failed", "stopped", "lost"})
"""Statuses of a run that no longer moves by itself."""

_TIMEOUT = httpx.Timeout(30.0, connect=5.0)
# A zip may be 90 MB, and its check takes seconds.
_UPLOAD_SECONDS = 900.0
_FOLLOW_SECONDS = 1.0
_LINES = 1_000
_PATIENCE = 10
# Pauses of 1, 2, 4, 8, 8, … seconds: half a minute in all.
_ASKED, _LONGEST_PAUSE = 7, 8.0


_open: "WeakSet[Client]" = WeakSet()


class Client(ExperimentCalls, MetricCalls, ClusterCalls, AdapterCalls, EvaluationCalls):
    """Each call raises a `SkydeckError`: of the answer's kind, or `Unavailable` without one.

    So does a `url` that is no address. `renew` is called once for a new token when the present one
    is not accepted. A process that was forked has the client, too: it connects anew, and what was
    logged before is sent by its parent alone.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        renew: Callable[[], str] | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.url = checked_url(url).rstrip("/")
        self._renew = renew
        self._transport = transport
        self._start({"User-Agent": f"skydeck/{__version__}"} | _bearer(token))
        _open.add(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Sends what was logged and is not stored yet. Raises as `flush` does."""
        try:
            self._log.close()
        finally:
            self._http.close()

    def list_recipes(self) -> list[Json]:
        return list(self._get("/recipes")["items"])

    def validate(
        self, recipe: str, config: Mapping[str, Any], *, cluster: str | None = None
    ) -> Json:
        """`{ok, errors, warnings}`. Raises `NotFound` for the recipe or the cluster."""
        body = {"recipe": recipe, "config": dict(config), "cluster": cluster}
        return self._post("/configs/validate", body)

    def render(self, recipe: str, config: Mapping[str, Any]) -> Json:
        return self._post("/configs/render", {"recipe": recipe, "config": dict(config)})

    def import_config(self, text: str) -> Json:
        """`{recipe, config, unresolved, notes}` of a script, a command, overrides or a dump."""
        return self._post("/configs/import", {"text": text})

    def diff(
        self,
        recipe: str,
        config: Mapping[str, Any],
        *,
        other: tuple[str, Mapping[str, Any]] | None = None,
    ) -> list[Json]:
        """Where a config differs from its recipe, or another one, given as recipe and config."""
        body: Json = {"recipe": recipe, "config": dict(config)}
        if other is not None:
            body["other"] = {"recipe": other[0], "config": dict(other[1])}
        return list(self._post("/configs/diff", body)["items"])

    def upload_code(self, data: bytes, *, name: str = "", project: str | None = None) -> Json:
        """Stores a zip; its `reference` goes into a config's `job.working_dir`.

        Sending the same one again answers the same. Raises `Invalid` for a zip that is refused.
        """
        query = {"name": name} | ({"project": project} if project else {})
        headers = {"Content-Type": "application/zip"}
        timeout = httpx.Timeout(_UPLOAD_SECONDS, connect=_TIMEOUT.connect)
        return self._call(
            "POST", "/code", content=data, params=query, headers=headers, timeout=timeout
        )

    def get_code(self, code_id: str) -> Json:
        return self._get(f"/code/{code_id}")

    def create_experiment(
        self,
        name: str,
        recipe: str,
        config: Mapping[str, Any] | None = None,
        *,
        project: str | None = None,
        hypothesis: str = "",
        tags: Sequence[str] = (),
    ) -> Json:
        body = {"name": name, "recipe": recipe, "config": dict(config or {}), "project": project}
        return self._create("/experiments", body | {"hypothesis": hypothesis, "tags": list(tags)})

    def create_run(
        self,
        experiment_id: str,
        *,
        overrides: Mapping[str, Any] | None = None,
        cluster: str | None = None,
        name: str | None = None,
        tags: Sequence[str] = (),
    ) -> Json:
        body = {"overrides": dict(overrides or {}), "cluster": cluster, "name": name}
        return self._create(f"/experiments/{experiment_id}/runs", body | {"tags": list(tags)})

    def list_runs(
        self,
        *,
        project: str | None = None,
        sort: str = "-created_at",
        limit: int = 50,
        cursor: str | None = None,
    ) -> Json:
        """One page: `{items, next_cursor}`; of all projects that may be read, or of one."""
        query: Json = {"sort": sort, "limit": limit}
        query |= {"project": project} if project else {}
        query |= {"cursor": cursor} if cursor else {}
        return self._get("/runs", query)

    def get_run(self, run_id: str) -> Json:
        return self._get(f"/runs/{run_id}")

    def compare_runs(
        self, run_ids: Sequence[str], *, metric: str = "", at: str = "last", group: str = ""
    ) -> Json:
        """2 to 100 runs beside each other; the first is what the others are held against."""
        query: Json = {"run": list(run_ids), "metric": metric, "at": at, "group": group}
        return self._get("/compare", query)

    def stop_run(self, run_id: str) -> Json:
        return self._post(f"/runs/{run_id}/stop")

    def resume_run(self, run_id: str) -> Json:
        return self._post(f"/runs/{run_id}/resume")

    def delete_run(self, run_id: str) -> Json:
        return self._post(f"/runs/{run_id}/delete")

    def restore_run(self, run_id: str) -> Json:
        return self._post(f"/runs/{run_id}/restore")

    def list_events(self, run_id: str) -> Iterator[Json]:
        """All events of a run, oldest first."""
        cursor: str | None = None
        while True:
            page = self._get(f"/runs/{run_id}/events", {"cursor": cursor} if cursor else {})
            yield from page["items"]
            cursor = page["next_cursor"]
            if cursor is None:
                return

    def list_metrics(self, run_id: str) -> list[Json]:
        return list(self._get(f"/runs/{run_id}/metrics")["items"])

    def read_series(
        self,
        run_ids: Sequence[str],
        keys: Sequence[str],
        *,
        x: str = "step",
        max_points: int = 1_000,
    ) -> list[Json]:
        query = {"run": list(run_ids), "key": list(keys), "x": x, "max_points": max_points}
        return list(self._get("/series", query)["series"])

    def read_log(
        self,
        run_id: str,
        *,
        attempt: int | None = None,
        from_line: int | None = None,
        limit: int = 500,
        q: str = "",
    ) -> Json:
        """`{lines: [{n, text}], total_lines, complete, next_line}`; go on from `next_line`."""
        query = {"attempt": attempt, "from_line": from_line, "limit": limit, "q": q}
        return self._get(
            f"/runs/{run_id}/logs", {name: v for name, v in query.items() if v is not None}
        )

    def iter_log_bytes(self, run_id: str, *, attempt: int | None = None) -> Iterator[bytes]:
        """The whole log so far, as the exact bytes that were logged."""
        query = {} if attempt is None else {"attempt": attempt}
        answer = self._request("GET", f"/runs/{run_id}/logs.txt", is_stream=True, params=query)
        try:
            if answer.is_error:
                answer.read()
                raise error_of(answer)
            yield from answer.iter_bytes()
        except httpx.HTTPError as error:
            raise self._silent(error) from None
        finally:
            answer.close()

    def follow(
        self,
        run_id: str,
        write: Callable[[str], None],
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> Json:
        """Calls `write` with each line of the newest attempt's log until the run has ended.

        Returns the run as it ended. An attempt that starts meanwhile is followed from its start.
        Once it was answered, it outlasts a restart of the service, which takes some seconds.
        """
        attempt, line, patience = 0, 1, _PATIENCE
        again = Retrying(
            retry=retry_if_exception_type(Unavailable),
            wait=wait_exponential(multiplier=_FOLLOW_SECONDS, max=_LONGEST_PAUSE),
            stop=stop_after_attempt(_ASKED),
            sleep=sleep,
            reraise=True,
        )
        run = self.get_run(run_id)
        while True:
            newest = run["attempts"][-1]["number"] if run["attempts"] else 0
            if newest != attempt:
                attempt, line = newest, 1
            has_ended = run["status"] in ENDED
            # The end of the log may be stored a little later than the end of the run.
            patience -= has_ended
            lines, is_complete = again(
                self._new_lines, run_id, attempt, line, is_last=patience <= 0
            )
            for text in lines:
                write(text)
            line += len(lines)
            if has_ended and len(lines) < _LINES and (is_complete or patience <= 0):
                return run
            if len(lines) < _LINES:
                sleep(_FOLLOW_SECONDS)
            run = again(self.get_run, run_id)

    def _new_lines(
        self, run_id: str, attempt: int, first: int, *, is_last: bool
    ) -> tuple[list[str], bool]:
        if attempt == 0:
            return [], True
        page = self.read_log(run_id, attempt=attempt, from_line=first, limit=_LINES)
        # The log's last line may still be half written.
        end = page["total_lines"] + (1 if is_last or page["complete"] else 0)
        return [line["text"] for line in page["lines"] if line["n"] < end], page["complete"]

    def _start(self, headers: Mapping[str, str]) -> None:
        self._http = httpx.Client(
            base_url=f"{self.url}/api/v1",
            headers=headers,
            timeout=_TIMEOUT,
            transport=self._transport,
            verify=tls_of(self.url),
        )
        self._log = MetricLog(self._push_lines)

    def _start_in_child(self) -> None:
        """Neither the parent's connections, nor its thread, nor its locks work here."""
        self._log.forget()
        self._start(self._http.headers)

    def _get(self, path: str, query: Mapping[str, Any] | None = None) -> Json:
        return self._call("GET", path, params=query or {})

    def _post(self, path: str, body: Json | None = None) -> Json:
        return self._call("POST", path, content=json.dumps(body or {}), headers=JSON_BODY)

    def _create(self, path: str, body: Json) -> Json:
        return self._create_sent(path, json.dumps(body).encode())

    def _create_sent(self, path: str, content: bytes) -> Json:
        # The key lets the call be sent again after a lost answer without making two.
        headers = JSON_BODY | {"Idempotency-Key": uuid4().hex}
        try:
            return self._call("POST", path, content=content, headers=headers)
        except Unavailable:
            return self._call("POST", path, content=content, headers=headers)

    def _call(self, method: str, path: str, **options: Any) -> Json:
        answer = self._request(method, path, **options)
        if answer.is_error:
            raise error_of(answer)
        if answer.status_code == httpx.codes.NO_CONTENT:
            return {}
        try:
            body: Json = answer.json()
        except ValueError:
            raise Unavailable(f"{self.url} is not Skydeck: it does not answer in JSON") from None
        return body

    def _request(
        self, method: str, path: str, *, is_stream: bool = False, **options: Any
    ) -> httpx.Response:
        answer = self._send(method, path, is_stream, options)
        if answer.status_code == NotSignedIn.status and self._renew is not None:
            answer.close()
            renew, self._renew = self._renew, None
            self._http.headers.update(_bearer(renew()))
            answer = self._send(method, path, is_stream, options)
        return answer

    def _send(
        self, method: str, path: str, is_stream: bool, options: Mapping[str, Any]
    ) -> httpx.Response:
        request = self._http.build_request(method, path, **options)
        try:
            return self._http.send(request, stream=is_stream)
        except httpx.HTTPError as error:
            raise self._silent(error) from None

    def _silent(self, error: Exception) -> Unavailable:
        return Unavailable(f"Skydeck does not answer at {self.url} ({error}): is it running?")


def checked_url(url: str) -> str:
    """The address of a service, unchanged. Raises `SkydeckError` for what cannot be one."""
    try:
        parts = urlsplit(url)
        is_whole = bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise SkydeckError(f"{url} is no address of Skydeck") from None
    if parts.scheme not in ("http", "https"):
        raise SkydeckError(f"{url} is no address of Skydeck: it must start with http or https")
    if not is_whole:
        raise SkydeckError(f"{url} is no address of Skydeck: it names no host and port")
    return url


def _bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def tls_of(url: str) -> bool:
    """Nothing to load where there is nothing to check: it takes 30 ms."""
    return url.startswith("https:")


def _start_in_child() -> None:
    for client in list(_open):
        client._start_in_child()


# Windows has no fork.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_in_child)
