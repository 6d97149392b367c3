"""The client for a service that we started: it reaches that one and nothing else."""

import httpx
import pytest

from app.outgoing.client import Limits, embedded_client
from app.outgoing.errors import AnswerTooLarge, BadAddress, HostRefused, RedirectRefused
from tests.outgoing.servers import Server, plain, redirect


async def test_it_reaches_its_service_without_a_rule(server: Server) -> None:
    server.answers["/api/version"] = plain(b"{}")
    async with embedded_client(
        f"http://127.0.0.1:{server.port}", headers={"Authorization": "Bearer a"}
    ) as http:
        assert (await http.get("/api/version")).json() == {}
    assert "Bearer a" in server.heads[0]


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:1/",
        "http://127.0.0.2:{port}/",
        "https://127.0.0.1:{port}/",
        "http://localhost:{port}/",
        "http://[::ffff:127.0.0.1]:{port}/",
        "http://169.254.169.254/",
        "https://example.com/",
    ],
)
async def test_it_reaches_nothing_else(server: Server, url: str) -> None:
    async with embedded_client(f"http://127.0.0.1:{server.port}") as http:
        with pytest.raises(HostRefused, match="alone"):
            await http.get(url.format(port=server.port))
    assert server.connections == 0


@pytest.mark.parametrize(
    "address",
    [
        "http://localhost:8265",
        "http://ray.internal:8265",
        "http://10.0.0.1:8265",
        "http://0.0.0.0:8265",
        "http://169.254.169.254",
        "http://u:p@127.0.0.1:8265",
        "127.0.0.1:8265",
    ],
)
def test_it_takes_a_loopback_address_only(address: str) -> None:
    with pytest.raises(BadAddress):
        embedded_client(address)


async def test_it_follows_no_redirect(server: Server) -> None:
    server.answers["/"] = redirect("http://169.254.169.254/")
    async with embedded_client(f"http://127.0.0.1:{server.port}") as http:
        assert (await http.get("/")).status_code == 302
        with pytest.raises(RedirectRefused):
            await http.get("/", follow_redirects=True)


async def test_its_answers_are_limited_too(server: Server) -> None:
    server.answers["/"] = plain(b"x" * 11)
    limits = Limits(body_bytes=10)
    async with embedded_client(f"http://127.0.0.1:{server.port}", limits=limits) as http:
        with pytest.raises(AnswerTooLarge):
            await http.get("/")


async def test_a_service_that_is_down_is_an_error_of_httpx() -> None:
    async with embedded_client("http://127.0.0.1:1") as http:
        with pytest.raises(httpx.ConnectError):
            await http.get("/")
