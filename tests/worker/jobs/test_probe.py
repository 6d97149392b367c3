"""The job that asks Skydeck from a cluster: each thing that can stand in the way has its status."""

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
import trustme

from tests.postgres import free_port
from worker.jobs.probe import Way, ask, main

Answer = Callable[[BaseHTTPRequestHandler], None]


def saying(body: bytes, status: int = 200, **headers: str) -> Answer:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)

    return answer


@contextmanager
def serving(
    answer: Answer, context: ssl.SSLContext | None = None
) -> Iterator[tuple[str, list[Any]]]:
    """A server on the loopback; its address and what it was asked."""
    asked: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append((self.path, self.headers["Authorization"]))
            answer(self)

        def log_message(self, *_: object) -> None:
            return

    server = HTTPServer(("127.0.0.1", 0), Handler)
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http{'s' if context else ''}://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


def test_the_right_answer_opens_the_way(capsys: pytest.CaptureFixture[str]) -> None:
    with serving(saying(b'{"proof": "right"}')) as (url, asked):
        environ = {"URL": url, "CHECK": "check-1", "PROOF": "right"}
        assert main({f"SKYDECK_PROBE_{name}": text for name, text in environ.items()}) == 0
    assert asked == [("/api/v1/probe", "Bearer check-1")]
    assert capsys.readouterr().out == "probe: Skydeck answered\n"


@pytest.mark.parametrize(
    ("answer", "way", "words"),
    [
        (saying(b'{"proof": "wrong"}'), Way.SOMEBODY_ELSE, "another Skydeck"),
        (saying(b"<html>Welcome"), Way.SOMEBODY_ELSE, "<html>Welcome"),
        (saying(b"[]"), Way.SOMEBODY_ELSE, "[]"),
        (
            saying(b"", 302, Location="https://login.example/?to=x"),
            Way.TURNED_AWAY,
            "login.example",
        ),
        (saying(b"no", 403), Way.TURNED_AWAY, "403"),
        (saying(b"no", 502), Way.TURNED_AWAY, "502"),
    ],
)
def test_an_answer_that_is_not_ours(answer: Answer, way: Way, words: str) -> None:
    with serving(answer) as (url, asked):
        found, said = ask(url, "check-1", "right")
    assert found is way
    assert words in said
    # A redirect is not followed: it would lead to a page that says nothing.
    assert len(asked) == 1


def test_nothing_listens() -> None:
    assert ask(f"http://127.0.0.1:{free_port()}", "c", "p")[0] is Way.REFUSED


def test_nothing_answers() -> None:
    release = threading.Event()

    def wait(_: BaseHTTPRequestHandler) -> None:
        release.wait(5)

    with serving(wait) as (url, _):
        assert ask(url, "c", "p", seconds=0.2)[0] is Way.SILENT
        release.set()


def test_a_certificate_of_an_unknown_authority() -> None:
    own = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(own)
    with serving(saying(b"{}"), own) as (url, _):
        way, words = ask(url, "c", "p")
    assert way is Way.UNTRUSTED
    assert "certificate verify failed" in words


def test_a_host_without_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    way, words = ask("http://nowhere.example", "c", "p")
    assert way is Way.UNKNOWN_HOST
    assert "Name or service not known" in words


def test_a_connection_that_breaks_off() -> None:
    with serving(lambda handler: handler.connection.close()) as (url, _):
        assert ask(url, "c", "p")[0] is Way.BROKEN
