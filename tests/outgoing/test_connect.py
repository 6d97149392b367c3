"""Where a call really goes: DNS that changes, names that share a machine, certificates."""

import asyncio
import ssl
from collections.abc import AsyncIterator

import httpx
import pytest
import trustme

from app.outgoing.errors import BadAddress, HostRefused, NameNotResolved, PlainHttpRefused
from tests.fakes.dns import FakeDns
from tests.fakes.network import SmallInternet
from tests.outgoing.conftest import Connect, Rules
from tests.outgoing.servers import Server, endless, plain, serving

PUBLIC = "93.184.215.14"


@pytest.fixture
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def trust(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


@pytest.fixture
async def tls_server(authority: trustme.CA) -> AsyncIterator[Server]:
    """Has a certificate for `api.test` alone."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("api.test").configure_cert(context)
    async with serving(context) as opened:
        opened.answers["/"] = plain(b"secure")
        yield opened


async def test_the_name_is_asked_for_and_the_address_connected_to(
    server: Server, connect: Connect
) -> None:
    server.answers["/v1"] = plain(b"hello")
    dns = FakeDns({"api.test": [["127.0.0.1"]]})
    answer = await connect(dns=dns).get(f"http://api.test:{server.port}/v1?a=b")
    assert answer.text == "hello"
    assert answer.extensions.keys() == {"http_version", "reason_phrase"}
    assert server.heads[0].startswith("GET /v1?a=b HTTP/1.1\r\n")
    assert f"\r\nhost: api.test:{server.port}\r\n" in server.heads[0].lower()
    assert dns.asked == ["api.test"]


async def test_a_name_that_turns_inward_between_check_and_connect_is_pinned(
    server: Server, connect: Connect
) -> None:
    server.answers["/"] = plain()
    dns = FakeDns({"rebind.example": [[PUBLIC], ["127.0.0.1"]]})
    internet = SmallInternet({PUBLIC: server.port})
    client = connect(Rules("8.8.8.8"), dns, network=internet, tls=ssl.create_default_context())
    with pytest.raises(httpx.TransportError):
        # The server speaks no TLS: only where the connection went matters here.
        await client.get("https://rebind.example/")
    assert internet.connected == [(PUBLIC, 443)]
    with pytest.raises(HostRefused, match=r"rebind\.example leads to 127\.0\.0\.1, a loopback"):
        await client.get("https://rebind.example/")
    assert internet.connected == [(PUBLIC, 443)]
    assert dns.asked == ["rebind.example"] * 2


async def test_each_new_connection_asks_and_judges_again(server: Server, connect: Connect) -> None:
    server.answers["/"] = plain(connection="close")
    dns = FakeDns({"api.test": [["127.0.0.1"], ["169.254.169.254"]]})
    client = connect(dns=dns)
    assert (await client.get(f"http://api.test:{server.port}/")).is_success
    with pytest.raises(HostRefused, match="cloud metadata"):
        await client.get(f"http://api.test:{server.port}/")
    assert server.connections == 1


async def test_a_connection_is_used_again_while_it_is_allowed(
    server: Server, connect: Connect
) -> None:
    server.answers["/"] = plain()
    rules = Rules("api.test")
    client = connect(rules)
    for _ in range(3):
        assert (await client.get(f"http://api.test:{server.port}/")).is_success
    assert server.connections == 1
    rules.texts.clear()
    with pytest.raises(HostRefused):
        await client.get(f"http://api.test:{server.port}/")
    assert len(server.heads) == 3


async def test_a_connection_that_the_server_has_closed_is_not_used_again(
    server: Server, connect: Connect
) -> None:
    async def once(writer: asyncio.StreamWriter) -> None:
        await plain()(writer)
        writer.close()

    server.answers["/"] = once
    client = connect()
    for _ in range(3):
        assert (await client.get(f"http://api.test:{server.port}/")).is_success
        # Until the end of the connection has arrived.
        await asyncio.sleep(0.05)
    assert server.connections == 3


async def test_nothing_is_sent_to_a_refused_host(server: Server, connect: Connect) -> None:
    client = connect(Rules())
    for url in (
        f"http://127.0.0.1:{server.port}/",
        f"http://[::ffff:127.0.0.1]:{server.port}/",
        f"http://api.test:{server.port}/",
        f"https://api.test:{server.port}/",
    ):
        with pytest.raises(HostRefused):
            await client.get(url, headers={"Authorization": "Bearer hunter2"})
    with pytest.raises(BadAddress):
        await client.get(f"http://u:hunter2@127.0.0.1:{server.port}/")
    assert server.connections == 0


async def test_plain_http_to_a_public_host(server: Server, connect: Connect) -> None:
    dns = FakeDns({"a.example": [[PUBLIC]]})
    internet = SmallInternet({PUBLIC: server.port})
    with pytest.raises(PlainHttpRefused, match="https"):
        await connect(Rules(), dns, network=internet).get("http://a.example/")
    assert internet.connected == []
    server.answers["/"] = plain()
    allowed = connect(Rules("a.example"), dns, network=internet)
    assert (await allowed.get("http://a.example/")).is_success


async def test_the_next_address_is_tried(server: Server, connect: Connect) -> None:
    server.answers["/"] = plain()
    dns = FakeDns({"a.example": [["2606:4700::1111", "1.0.0.1", PUBLIC]]})
    internet = SmallInternet({PUBLIC: server.port})
    client = connect(Rules("a.example"), dns, network=internet)
    assert (await client.get("http://a.example/")).is_success
    assert [host for host, _ in internet.connected] == ["2606:4700::1111", "1.0.0.1", PUBLIC]


async def test_a_host_that_does_not_listen(connect: Connect) -> None:
    with pytest.raises(httpx.ConnectError):
        await connect().get("http://api.test:1024/")


async def test_a_name_that_nobody_knows(connect: Connect) -> None:
    with pytest.raises(NameNotResolved, match=r"nowhere\.test could not be resolved"):
        await connect().get("http://nowhere.test/")


async def test_the_certificate_is_that_of_the_name(
    tls_server: Server, connect: Connect, trust: ssl.SSLContext
) -> None:
    client = connect(tls=trust)
    assert (await client.get(f"https://api.test:{tls_server.port}/")).text == "secure"
    with pytest.raises(httpx.ConnectError, match=r"not valid for 'other\.test'"):
        await client.get(f"https://other.test:{tls_server.port}/")
    assert len(tls_server.heads) == 1


async def test_the_certificate_is_not_that_of_the_address(
    authority: trustme.CA, connect: Connect, trust: ssl.SSLContext
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    async with serving(context) as by_address:
        with pytest.raises(httpx.ConnectError, match=r"not valid for 'api\.test'"):
            await connect(tls=trust).get(f"https://api.test:{by_address.port}/")


async def test_an_unknown_authority_is_not_trusted(tls_server: Server, connect: Connect) -> None:
    with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
        await connect().get(f"https://api.test:{tls_server.port}/")


async def test_the_environment_adds_no_proxy(
    server: Server, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    server.answers["/"] = plain()
    assert (await connect().get(f"http://api.test:{server.port}/")).is_success


async def test_the_host_header_cannot_name_another_site(server: Server, connect: Connect) -> None:
    server.answers["/"] = plain()
    await connect().get(f"http://api.test:{server.port}/", headers={"Host": "inner.example"})
    assert "inner.example" not in server.heads[0]


async def test_a_stream_that_is_left_ends_its_connection(server: Server, connect: Connect) -> None:
    server.answers["/"] = endless(b"x" * 100, pause=0.001)
    async with connect().stream("GET", f"http://api.test:{server.port}/") as answer:
        assert await anext(answer.aiter_bytes())
    assert answer.is_closed
