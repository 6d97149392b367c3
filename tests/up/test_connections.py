"""What a stranger can hold open, against a real server on a real socket."""

import http.client
import logging
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from starlette.responses import PlainTextResponse

from app.settings import Settings
from app.up.connections import ConnectionLimits, bounded_protocol
from app.up.serve import server_config

HEALTHY = b"GET / HTTP/1.1\r\nHost: skydeck\r\n\r\n"
PATIENCE = 10.0


@contextmanager
def serving(limits: ConnectionLimits, **options: Any) -> Iterator[int]:
    """A server in a thread; its port."""
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        PlainTextResponse("fine"),
        http=bounded_protocol(limits),
        backlog=limits.backlog,
        log_config=None,
        timeout_graceful_shutdown=1,
        **{"proxy_headers": False} | options,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


def limits(*, total: int = 200, per_address: int = 100, head: float = 0.5) -> ConnectionLimits:
    return ConnectionLimits(total, per_address, backlog=64, head_seconds=head)


def connect(held: ExitStack, port: int, *, sends: bytes = b"") -> socket.socket:
    opened = held.enter_context(socket.create_connection(("127.0.0.1", port), PATIENCE))
    opened.sendall(sends)
    return opened


def is_closed(opened: socket.socket) -> bool:
    """Waits for it, `PATIENCE` at most."""
    try:
        return opened.recv(1) == b""
    except ConnectionError:
        return True


def read_answer(opened: socket.socket) -> None:
    got = b""
    while not got.endswith(b"fine"):
        got += opened.recv(4096) or pytest.fail(f"closed after {got!r}")


def answer(port: int) -> bytes:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request("GET", "/")
        return connection.getresponse().read()
    finally:
        connection.close()


@pytest.mark.parametrize("sends", [b"", b"GET / HTTP/1.1\r\nHost: sky"], ids=["idle", "half"])
def test_unfinished_heads_are_closed_and_others_are_answered(sends: bytes) -> None:
    with serving(limits()) as port, ExitStack() as held:
        idle = [connect(held, port, sends=sends) for _ in range(50)]
        assert answer(port) == b"fine"
        assert all(is_closed(each) for each in idle)
        assert answer(port) == b"fine"


def test_the_head_of_a_next_request_has_the_same_time() -> None:
    with serving(limits(), timeout_keep_alive=60) as port, ExitStack() as held:
        opened = connect(held, port, sends=HEALTHY)
        read_answer(opened)
        opened.sendall(b"GET /")
        assert is_closed(opened)


def test_the_rest_of_a_body_that_nobody_reads_has_the_same_time() -> None:
    with serving(limits(), timeout_keep_alive=60) as port, ExitStack() as held:
        head = b"POST / HTTP/1.1\r\nHost: skydeck\r\nContent-Length: 9\r\n\r\n"
        opened = connect(held, port, sends=head)
        read_answer(opened)
        opened.sendall(b"a")
        assert is_closed(opened)


def test_a_finished_head_stops_the_clock() -> None:
    with serving(limits(head=0.2), timeout_keep_alive=1) as port, ExitStack() as held:
        opened = connect(held, port, sends=HEALTHY)
        read_answer(opened)
        opened.settimeout(0.5)
        with pytest.raises(TimeoutError):
            opened.recv(1)


@pytest.mark.parametrize("most", [{"total": 8}, {"per_address": 8}], ids=["in all", "of one"])
def test_connections_beyond_the_cap_are_closed_at_once(
    most: dict[str, int], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "app.up.connections")
    with serving(limits(head=60, **most)) as port:
        with ExitStack() as held:
            for _ in range(8):
                connect(held, port)
            assert all(is_closed(connect(held, port)) for _ in range(20))
        assert answer(port) == b"fine"
    [line] = [each.message for each in caplog.records if each.name == "app.up.connections"]
    assert "127.0.0.1" in line


def test_a_known_proxy_counts_for_many_people() -> None:
    options = {"proxy_headers": True, "forwarded_allow_ips": "127.0.0.1"}
    with serving(limits(per_address=2, head=60), **options) as port, ExitStack() as held:
        for _ in range(4):
            connect(held, port)
        assert answer(port) == b"fine"


def test_limits_leave_files_for_the_database(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resource.getrlimit", lambda _kind: (1024, 4096))
    assert ConnectionLimits.of_process() == ConnectionLimits(512, 128, 64)
    monkeypatch.setattr("resource.getrlimit", lambda _kind: (1_000_000, 1_000_000))
    assert ConnectionLimits.of_process() == ConnectionLimits(2000, 500, 2048)


def test_the_web_process_is_bounded(tmp_path: Path) -> None:
    config = server_config(Settings(home=tmp_path), limits())
    config.load()
    assert vars(config.http_protocol_class)["limits"] == limits()
    assert config.ws_protocol_class is None


def test_an_idle_connection_outlives_what_clients_and_balancers_keep(tmp_path: Path) -> None:
    balancers_seconds = 60
    config = server_config(Settings(home=tmp_path), limits())
    assert config.timeout_keep_alive > balancers_seconds
    assert config.timeout_keep_alive > (httpx.Limits().keepalive_expiry or 0)
