"""The client without a server: following a log, errors, lost answers."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from app.client import Client
from app.errors import Conflict, Invalid, NotSignedIn, SkydeckError, Unavailable

Handler = Callable[[httpx.Request], httpx.Response]


def client(handler: Handler, **options: Any) -> Client:
    return Client("http://skydeck", "sky_x", transport=httpx.MockTransport(handler), **options)


class Service:
    """A run whose log grows by a step at each look: (status, attempt, log, is complete)."""

    def __init__(self, *states: tuple[str, int, str, bool]) -> None:
        self.states = list(states)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        status, attempt, text, is_complete = self.states[0]
        if not request.url.path.endswith("/logs"):
            attempts = [{"number": number + 1} for number in range(attempt)]
            return httpx.Response(200, json={"status": status, "attempts": attempts})
        if len(self.states) > 1:
            self.states.pop(0)
        assert int(request.url.params["attempt"]) == attempt
        first = int(request.url.params["from_line"])
        texts = text.removesuffix("\n").split("\n")
        lines = [{"n": n, "text": line} for n, line in enumerate(texts, 1) if n >= first]
        page = {"lines": lines, "total_lines": len(texts), "complete": is_complete}
        return httpx.Response(200, json=page)


def follow(*states: tuple[str, int, str, bool]) -> tuple[list[str], str, int]:
    lines: list[str] = []
    naps: list[float] = []
    with client(Service(*states)) as api:
        run = api.follow("run-x", lines.append, sleep=naps.append)
    return lines, run["status"], len(naps)


def test_each_line_is_written_once_and_whole() -> None:
    lines, status, _ = follow(
        ("running", 1, "on", False),
        ("running", 1, "one\ntw", False),
        ("running", 1, "one\ntwo\nthree\n", False),
        ("succeeded", 1, "one\ntwo\nthree\nend", True),
    )
    assert (lines, status) == (["one", "two", "three", "end"], "succeeded")


def test_a_new_attempt_is_followed_from_its_start() -> None:
    lines, status, _ = follow(
        ("running", 1, "a\nb\n", False),
        ("running", 2, "c\nd\n", False),
        ("failed", 2, "c\nd\ne", True),
    )
    assert (lines, status) == (["a", "c", "d", "e"], "failed")


def test_a_log_that_is_stored_after_the_end_is_waited_for() -> None:
    lines, _, _ = follow(
        ("succeeded", 1, "a\n", False),
        ("succeeded", 1, "a\nb\n", True),
    )
    assert lines == ["a", "b"]


def test_a_log_that_never_completes_is_not_waited_for_long() -> None:
    lines, _, naps = follow(("lost", 1, "a\nb", False))
    assert lines == ["a", "b"]
    assert naps < 20


@pytest.mark.parametrize(
    ("status", "kind"), [(409, Conflict), (422, Invalid), (401, NotSignedIn), (500, SkydeckError)]
)
def test_errors_keep_their_kind_and_reason(status: int, kind: type[SkydeckError]) -> None:
    body = {"detail": "no", "errors": [{"field": "a", "rule": "r", "message": "why"}]}
    api = client(lambda _: httpx.Response(status, json=body))
    with api, pytest.raises(kind, match="no: a: why"):
        api.get_run("run-x")


@pytest.mark.parametrize("text", ["<html>", "[]", '{"detail": 1}'])
def test_answers_of_something_else(text: str) -> None:
    api = client(lambda _: httpx.Response(502, text=text))
    with api, pytest.raises(Unavailable, match="502"):
        api.get_run("run-x")


def test_an_answer_that_is_no_json() -> None:
    api = client(lambda _: httpx.Response(200, text="<html>"))
    with api, pytest.raises(Unavailable, match="not Skydeck"):
        api.get_run("run-x")


def test_a_creation_whose_answer_was_lost_is_sent_again_under_its_key() -> None:
    keys: list[str] = []

    def lose_the_first(request: httpx.Request) -> httpx.Response:
        keys.append(request.headers["idempotency-key"])
        if len(keys) == 1:
            raise httpx.ReadError("lost")
        return httpx.Response(201, json={"id": "exp-x"})

    with client(lose_the_first) as api:
        assert api.create_experiment("a", "b")["id"] == "exp-x"
    assert len(keys) == 2
    assert len(set(keys)) == 1


def test_a_restart_of_the_service_is_outlasted() -> None:
    service = Service(("running", 1, "a\n", False), ("succeeded", 1, "a\nb\n", True))
    count, naps, lines = 0, list[float](), list[str]()

    def drop_some(request: httpx.Request) -> httpx.Response:
        nonlocal count
        count += 1
        if count in (2, 3, 5):
            raise httpx.ConnectError("refused")
        return service(request)

    with client(drop_some) as api:
        assert api.follow("run-x", lines.append, sleep=naps.append)["status"] == "succeeded"
    assert lines == ["a", "b"]
    assert naps == [1, 2, 1, 1]


def test_a_service_that_stays_away_is_given_up_on() -> None:
    count, naps = 0, list[float]()

    def answer_once(_request: httpx.Request) -> httpx.Response:
        nonlocal count
        count += 1
        if count > 1:
            raise httpx.ConnectError("refused")
        return httpx.Response(200, json={"status": "running", "attempts": [{"number": 1}]})

    with client(answer_once) as api, pytest.raises(Unavailable, match="running"):
        api.follow("run-x", print, sleep=naps.append)
    assert 20 < sum(naps) < 60


def test_a_service_that_never_answered_is_not_waited_for() -> None:
    def refuse(_request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    with client(refuse) as api, pytest.raises(Unavailable):
        api.follow("run-x", print, sleep=lambda _: pytest.fail("waited"))


def test_a_download_renews_the_token_too() -> None:
    def accept_the_new(request: httpx.Request) -> httpx.Response:
        if request.headers["authorization"] == "Bearer sky_new":
            return httpx.Response(200, content=b"log")
        return httpx.Response(401, json={"detail": "no", "errors": []})

    with client(accept_the_new, renew=lambda: "sky_new") as api:
        assert b"".join(api.iter_log_bytes("run-x")) == b"log"


def test_a_download_says_why_it_was_refused() -> None:
    answer = {"detail": "there is no run run-x", "errors": []}
    api = client(lambda _: httpx.Response(404, json=answer))
    with api, pytest.raises(SkydeckError, match="no run"):
        list(api.iter_log_bytes("run-x"))


def test_a_token_is_renewed_once() -> None:
    seen: list[str] = []

    def refuse(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers["authorization"])
        return httpx.Response(401, json={"detail": "no", "errors": []})

    with client(refuse, renew=lambda: "sky_new") as api:
        for _ in range(2):
            with pytest.raises(NotSignedIn):
                api.get_run("run-x")
    assert seen == ["Bearer sky_x", "Bearer sky_new", "Bearer sky_new"]
