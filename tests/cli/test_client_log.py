"""Metrics logged from a loop: nothing is lost, whatever the service does meanwhile."""

import json
import math
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import numpy as np
import pytest

from app.client import Client
from app.client_log import MAX_WAITING, MetricLog, requests_of
from app.errors import Conflict, Unavailable


class Service:
    """Keeps what it is sent; `answers` are the status codes to give first."""

    def __init__(self, *answers: int) -> None:
        self.answers = list(answers)
        self.rows: list[dict[str, Any]] = []
        self.count = 0

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.count += 1
        status = self.answers.pop(0) if self.answers else 200
        if status != 200:
            problem = {"status": status, "detail": "run run-x is deleted", "errors": []}
            return httpx.Response(status, json=problem)
        lines = request.content.splitlines()
        self.rows += [{"run": request.url.path.split("/")[4], **json.loads(x)} for x in lines]
        return httpx.Response(200, json={"accepted": len(lines)})


@pytest.fixture
def logged() -> Iterator[tuple[Client, Service]]:
    service = Service()
    with client(service) as api:
        yield api, service


def client(service: Service) -> Client:
    return Client("http://skydeck", "sky_x", transport=httpx.MockTransport(service))


def test_many_calls_are_few_requests(logged: tuple[Client, Service]) -> None:
    api, service = logged
    for step in range(300):
        api.log("run-x", {"loss": 1 / (step + 1), "lr": 3}, step=step, time=5.0)
    api.flush(5)
    assert [row["step"] for row in service.rows] == list(range(300))
    assert service.rows[1] == {"run": "run-x", "step": 1, "time": 5.0, "loss": 0.5, "lr": 3}
    assert service.count < 20


def test_it_is_sent_without_being_asked(logged: tuple[Client, Service]) -> None:
    api, service = logged
    sent = threading.Event()
    api._log._send = lambda run, body: sent.set()
    api.log("run-x", {"loss": 1.0})
    assert sent.wait(1.0)
    assert service.count == 0


def test_steps_count_by_themselves_for_each_run(logged: tuple[Client, Service]) -> None:
    api, service = logged
    for run, step in (("run-x", None), ("run-x", None), ("run-y", None), ("run-x", 7)):
        api.log(run, {"loss": 1.0}, step=step)
    api.log("run-x", {"loss": 1.0})
    api.flush(5)
    steps = [(row["run"], row["step"]) for row in service.rows]
    assert steps == [("run-x", 0), ("run-x", 1), ("run-y", 0), ("run-x", 7), ("run-x", 8)]


def test_strange_numbers_and_keys_arrive(logged: tuple[Client, Service]) -> None:
    api, service = logged
    values: dict[str, Any] = {
        "a": math.nan,
        "b": math.inf,
        "c": -math.inf,
        "d": np.float32(0.5),
        "e": 2**63 - 1,
    }
    api.log("run-x", values, step=1)
    api.log("run-x", {"step": 3.0, "⏱ 'n\" <b>": 1.0}, step=2)
    api.flush(5)
    first, *points = service.rows
    kept = [first[key] for key in "abcde"]
    assert kept == ["NaN", "Infinity", "-Infinity", 0.5, 2**63 - 1]
    assert {point["key"]: point["value"] for point in points} == {"step": 3.0, "⏱ 'n\" <b>": 1.0}
    assert {point["step"] for point in points} == {2}


@pytest.mark.parametrize("values", [{"": 1.0}, {"k" * 501: 1.0}, {"a": "x"}, {"a": None}, {3: 1.0}])
def test_nonsense_is_refused_at_once(values: Any, logged: tuple[Client, Service]) -> None:
    with pytest.raises(ValueError, match="is no"):
        logged[0].log("run-x", values)


@pytest.mark.parametrize("status", [503, 502, 429])
def test_while_the_service_is_away_nothing_is_lost(status: int) -> None:
    service = Service(status, status)
    log = MetricLog(client(service)._push_lines, every=0.01)
    for step in range(5):
        log.add("run-x", {"loss": 1.0}, step=step)
    log.flush(10)
    log.close()
    assert [row["step"] for row in service.rows] == list(range(5))


def test_what_is_not_stored_in_time_is_said() -> None:
    log = MetricLog(client(Service(*[503] * 1_000))._push_lines, every=0.01)
    log.add("run-x", {"loss": 1.0})
    with pytest.raises(Unavailable, match="1 logged values are not stored yet"):
        log.flush(0.05)
    with pytest.raises(Unavailable):
        log.close(0.05)


def test_a_refusal_is_raised_at_the_next_call() -> None:
    with client(Service(409)) as api:
        api.log("run-x", {"loss": 1.0})
        with pytest.raises(Conflict, match="is deleted"):
            api.flush(5)
        api.log("run-x", {"loss": 1.0})
        api.flush(5)


def test_the_oldest_are_dropped_when_too_many_wait() -> None:
    log = MetricLog(client(Service(*[503] * 1_000))._push_lines, every=60)
    log._thread = threading.Thread()
    log._rows = [("run-x", 0, 0.0, dict.fromkeys(map(str, range(MAX_WAITING // 10)), 1.0))] * 10
    log._waiting = MAX_WAITING
    with pytest.warns(UserWarning, match="of the oldest values are lost"):
        log.add("run-x", {"loss": 1.0})
    assert log._waiting <= MAX_WAITING * 0.9
    assert log._rows[-1][3] == {"loss": 1.0}


def test_large_logs_go_in_parts() -> None:
    rows = [("run-x", step, 0.0, {f"k{i}": 0.5 for i in range(1_000)}) for step in range(120)]
    parts = list(requests_of(rows))
    assert [start for start, _, _ in parts] == [0, 50, 100]
    assert sum(body.count(b"\n") + 1 for _, _, body in parts) == 120
