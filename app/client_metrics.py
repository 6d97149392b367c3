"""The calls of the Python client that make external runs and send their metrics."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import httpx
import orjson

from app.client_errors import error_of
from app.client_log import MetricLog
from app.errors import TooMany, Unavailable

Json = dict[str, Any]
JSON_BODY = {"Content-Type": "application/json"}


class Calls(Protocol):
    """What the client offers to these calls."""

    url: str
    _log: MetricLog

    def _post(self, path: str, body: Json | None = None) -> Json: ...

    def _create(self, path: str, body: Json) -> Json: ...

    def _create_sent(self, path: str, content: bytes) -> Json: ...

    def _call(self, method: str, path: str, **options: Any) -> Json: ...

    def _request(
        self, method: str, path: str, *, is_stream: bool = False, **options: Any
    ) -> httpx.Response: ...


class MetricCalls:
    """Mixed into `app.client.Client`."""

    def create_external_run(
        self: Calls,
        name: str,
        *,
        project: str | None = None,
        experiment: str | None = None,
        config: Mapping[str, Any] | None = None,
        tags: Sequence[str] = (),
    ) -> Json:
        """A run that you execute yourself: `push` its metrics, then `finish` it."""
        body: Json = {"name": name, "project": project, "experiment": experiment}
        body |= {"config": dict(config or {}), "tags": list(tags)}
        return self._create("/runs/external", body)

    def push(self: Calls, run_id: str, points: Iterable[Mapping[str, Any]]) -> int:
        """Stores points `{key, step, value, time?}`; returns how many were accepted."""
        return int(self._post(f"/runs/{run_id}/metrics", {"points": _plain(points)})["accepted"])

    def push_columns(self: Calls, run_id: str, columns: Mapping[str, Sequence[Any]]) -> int:
        """The quickest way for many points: `step`, `time` if wanted, and a list for each key.

        A `None` is a gap. At most 100,000 points a call; returns how many were accepted.
        """
        content = orjson.dumps(_plain_columns(columns))
        path = f"/runs/{run_id}/metrics"
        answer = self._call("POST", path, content=content, headers=JSON_BODY)
        return int(answer["accepted"])

    def import_runs(
        self: Calls, runs: Sequence[Mapping[str, Any]], *, project: str | None = None
    ) -> list[Json]:
        """Makes whole runs, all or none: `{name, experiment?, config?, tags?, status?, started_at?,
        ended_at?, metrics?}`, with `metrics` as columns like those of `push_columns`.

        Without a `status` a run goes on. At most 100 runs and 100,000 points a call. Returns
        `{id, name}` of each, in their order.
        """
        plain = [
            {**run, "metrics": _plain_columns(run["metrics"])} if "metrics" in run else run
            for run in runs
        ]
        body = {"project": project, "runs": plain}
        return list(self._create_sent("/runs/import", orjson.dumps(body))["items"])

    def log(
        self: Calls,
        run_id: str,
        values: Mapping[str, float],
        *,
        step: int | None = None,
        time: float | None = None,
    ) -> None:
        """Takes the values of a step, and returns at once; they are stored within a second.

        Without a `step` it is the run's next one, from 0. Raises `ValueError` for what is no number
        or no key, and the error of earlier values that the service refused. See `flush`.
        """
        self._log.add(run_id, values, step=step, time=time)

    def flush(self: Calls, timeout: float | None = None) -> None:
        """Returns when all that was logged is stored.

        Raises `Unavailable` after `timeout` seconds: it is kept and sent again.
        """
        self._log.flush(timeout)

    def finish(self: Calls, run_id: str, status: str = "succeeded") -> Json:
        return self._post(f"/runs/{run_id}/finish", {"status": status})

    def _push_lines(self: Calls, run_id: str, lines: bytes) -> None:
        headers = {"Content-Type": "application/x-ndjson"}
        path = f"/runs/{run_id}/metrics"
        answer = self._request("POST", path, content=lines, headers=headers)
        if answer.status_code == TooMany.status or answer.is_server_error:
            raise Unavailable(f"Skydeck at {self.url} answered {answer.status_code}")
        if answer.is_error:
            raise error_of(answer)


def _plain(points: Iterable[Mapping[str, Any]]) -> list[Json]:
    return [dict(point) | {"value": _value(point.get("value"))} for point in points]


def _plain_columns(columns: Mapping[str, Sequence[Any]]) -> Json:
    return {
        key: values if key in ("step", "time") else _plain_column(values)
        for key, values in columns.items()
    }


def _plain_column(values: Sequence[Any]) -> list[Any]:
    column = list(values)
    try:
        if math.isfinite(math.fsum(column)):
            return column
    except (TypeError, ValueError, OverflowError):
        pass
    return [_value(value) for value in column]


def _value(value: Any) -> Any:
    if isinstance(value, float) and value - value != 0:
        return "NaN" if value != value else ("Infinity" if value > 0 else "-Infinity")
    return value
