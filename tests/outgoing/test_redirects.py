"""Redirects: off, and where they are on, checked like any other call."""

import asyncio
import ssl
from collections.abc import AsyncIterator

import pytest
import trustme

from app.outgoing.errors import AnswerTooSlow, RedirectRefused
from app.outgoing.transport import Limits
from tests.fakes.dns import FakeDns
from tests.fakes.network import SmallInternet
from tests.outgoing.conftest import Connect, Rules
from tests.outgoing.servers import Server, plain, redirect, serving

KEY = {"Authorization": "Bearer hunter2", "X-Api-Key": "hunter2", "Cookie": "a=hunter2"}


@pytest.fixture
async def second() -> AsyncIterator[Server]:
    async with serving() as opened:
        yield opened


async def test_they_are_not_followed_by_themselves(server: Server, connect: Connect) -> None:
    server.answers["/"] = redirect("/elsewhere")
    answer = await connect().get(f"http://api.test:{server.port}/")
    assert answer.status_code == 302
    assert len(server.heads) == 1
    with pytest.raises(RedirectRefused, match="none is followed"):
        await connect().get(f"http://api.test:{server.port}/", follow_redirects=True)


async def test_those_on_one_site_keep_the_credentials(server: Server, connect: Connect) -> None:
    server.answers |= {"/": redirect("/a"), "/a": redirect("/b"), "/b": plain(b"there")}
    client = connect(redirects=2)
    answer = await client.get(f"http://api.test:{server.port}/", headers=KEY)
    assert answer.text == "there"
    assert answer.url.path == "/b"
    assert "Bearer hunter2" in server.heads[2]


@pytest.mark.parametrize("by", ["name", "port"])
async def test_another_site_does_not_see_the_credentials(
    server: Server, second: Server, connect: Connect, by: str
) -> None:
    place = ("other.test", server) if by == "name" else ("api.test", second)
    server.answers["/"] = redirect(f"http://{place[0]}:{place[1].port}/a")
    place[1].answers |= {"/a": redirect("/b"), "/b": plain(b"there")}
    client = connect(redirects=2, headers={"X-Api-Key": "hunter2"})
    client.cookies.set("session", "hunter2")
    answer = await client.get(f"http://api.test:{server.port}/", headers=KEY)
    assert answer.text == "there"
    seen = place[1].heads[-2:]
    assert [head.split()[1] for head in seen] == ["/a", "/b"]
    assert "hunter2" not in "".join(seen)
    assert "hunter2" in server.heads[0]


async def test_a_loop_ends(server: Server, connect: Connect) -> None:
    server.answers["/"] = redirect("/")
    with pytest.raises(RedirectRefused, match="3 redirects were followed already") as caught:
        await connect(redirects=3).get(f"http://api.test:{server.port}/")
    assert caught.value.rule == "too-many"
    assert len(server.heads) == 4


@pytest.mark.parametrize(
    ("location", "rule"),
    [
        ("http://169.254.169.254/latest/meta-data/", "metadata"),
        ("http://[::ffff:169.254.169.254]/", "metadata"),
        ("http://[fd00:ec2::254]/", "metadata"),
        ("http://10.0.0.1/", "private"),
        ("http://inner.test/", "private"),
        ("http://0.0.0.0/", "unspecified"),
        ("http://2130706433/", "number-form"),
        ("http://u:hunter2@api.test/", "userinfo"),
        ("ftp://api.test/", "scheme"),
        ("file:///etc/passwd", "scheme"),
        ("http://api.test:22/", "port"),
    ],
)
async def test_each_hop_is_checked(
    server: Server, connect: Connect, location: str, rule: str
) -> None:
    server.answers["/"] = redirect(location)
    dns = FakeDns({"api.test": [["127.0.0.1"]], "inner.test": [["10.0.0.7"]]})
    internet = SmallInternet({"127.0.0.1": server.port})
    client = connect(dns=dns, redirects=3, network=internet)
    with pytest.raises(RedirectRefused, match=r"api\.test redirects") as caught:
        await client.get(f"http://api.test:{server.port}/")
    assert caught.value.rule == rule
    assert "hunter2" not in caught.value.message
    assert len(internet.connected) == 1


async def test_a_redirect_to_a_name_that_turned_inward(server: Server, connect: Connect) -> None:
    server.answers["/"] = redirect(
        f"http://api.test:{server.port}/a", "302 Found\r\nconnection: close"
    )
    dns = FakeDns({"api.test": [["127.0.0.1"], ["169.254.169.254"]]})
    with pytest.raises(RedirectRefused, match="cloud metadata"):
        await connect(dns=dns, redirects=1).get(f"http://api.test:{server.port}/")


async def test_https_does_not_become_http(server: Server, connect: Connect) -> None:
    authority = trustme.CA()
    theirs, ours = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context()
    authority.issue_cert("api.test").configure_cert(theirs)
    authority.configure_trust(ours)
    async with serving(theirs) as secure:
        secure.answers["/"] = redirect(f"http://api.test:{server.port}/")
        with pytest.raises(RedirectRefused, match="from https to http") as caught:
            await connect(redirects=3, tls=ours).get(f"https://api.test:{secure.port}/")
    assert caught.value.rule == "downgrade"
    assert server.connections == 0


@pytest.mark.parametrize("status", ["307 Temporary Redirect", "308 Permanent Redirect"])
async def test_a_body_is_not_sent_to_another_site(
    server: Server, second: Server, connect: Connect, status: str
) -> None:
    server.answers["/"] = redirect(f"http://other.test:{second.port}/", status)
    with pytest.raises(RedirectRefused, match="not sent what was meant") as caught:
        await connect(redirects=3).post(f"http://api.test:{server.port}/", content=b"")
    assert caught.value.rule == "body"
    assert second.connections == 0


async def test_a_request_may_be_sent_twice(server: Server, connect: Connect) -> None:
    server.answers |= {"/": redirect("/a"), "/a": plain(b"there")}
    client = connect(redirects=1)
    request = client.build_request("GET", f"http://api.test:{server.port}/")
    for _ in range(2):
        assert (await client.send(request)).text == "there"


async def test_all_hops_share_one_time(server: Server, connect: Connect) -> None:
    async def slow(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.2)
        await redirect("/")(writer)

    server.answers["/"] = slow
    client = connect(redirects=20, limits=Limits(total_seconds=0.5))
    with pytest.raises(AnswerTooSlow):
        await client.get(f"http://api.test:{server.port}/")
    assert len(server.heads) <= 4


async def test_rules_are_read_at_each_hop(server: Server, connect: Connect) -> None:
    server.answers["/"] = redirect(f"http://other.test:{server.port}/a")
    with pytest.raises(RedirectRefused, match="Outgoing hosts"):
        await connect(Rules("api.test"), redirects=3).get(f"http://api.test:{server.port}/")
    assert len(server.heads) == 1
