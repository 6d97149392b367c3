"""The list of allowed hosts in the database, and how soon a change to it is felt."""

import pytest
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from app.access.principal import Actor
from app.clock import utcnow
from app.db import Database
from app.errors import Invalid, NotFound
from app.ids import new_slug
from app.models import AllowedHost, AuditEntry
from app.outgoing import service
from app.outgoing.allow_list import AllowList
from app.outgoing.errors import AllowListUnreadable, HostRefused
from tests.fakes.dns import FakeDns
from tests.outgoing.conftest import DNS, Connect
from tests.outgoing.servers import Server, plain
from tests.queries import QueryCounter

ADA = Actor(name="ada", key="user:1", address="192.0.2.7")


async def allow(session: AsyncSession, host: str, reason: str = "a test") -> AllowedHost:
    return await service.allow(session, ADA, host=host, reason=reason)


async def test_a_host_is_kept_with_who_and_why(database: Database) -> None:
    async with database.write() as session:
        await allow(session, " Ray.Internal:8265 ", " the team's cluster ")
        await allow(session, "10.0.0.0/24")
    async with database.read() as session:
        first, second = await service.list_hosts(session)
    assert first.host == "10.0.0.0/24"
    assert (second.host, second.reason) == ("ray.internal:8265", "the team's cluster")
    assert second.created_by == "ada"
    assert second.slug.startswith("host-")


@pytest.mark.parametrize(
    ("host", "reason", "field", "rule"),
    [
        ("http://ray.internal", "x", "host", "host"),
        ("0.0.0.0/0", "x", "host", "network"),
        ("*.com", "x", "host", "suffix"),
        ("224.0.0.1", "x", "host", "never"),
        ("a." * 200 + "b", "x", "host", "length"),
        ("ray.internal", " ", "reason", "missing"),
        ("ray.internal", "x" * 501, "reason", "length"),
        ("ray.internal", "two\nlines", "reason", "length"),
    ],
)
async def test_what_cannot_be_allowed(
    sqlite_database: Database, host: str, reason: str, field: str, rule: str
) -> None:
    async with sqlite_database.write() as session:
        with pytest.raises(Invalid) as caught:
            await allow(session, host, reason)
        assert await service.list_hosts(session) == []
    assert [(p.field, p.rule) for p in caught.value.problems] == [(field, rule)]


async def test_a_host_is_allowed_once(database: Database) -> None:
    async with database.write() as session:
        await allow(session, "ray.internal")
        with pytest.raises(Invalid) as caught:
            await allow(session, "RAY.internal.")
    assert caught.value.problems[0].rule == "taken"


async def test_each_change_is_in_the_audit_log(database: Database) -> None:
    async with database.write() as session:
        row = await allow(session, "ray.internal")
        await service.refuse(session, ADA, row.slug)
        with pytest.raises(NotFound):
            await service.refuse(session, ADA, row.slug)
    async with database.read() as session:
        entries = list(await session.scalars(select(AuditEntry).order_by(AuditEntry.id)))
        assert await service.list_hosts(session) == []
    assert [(e.action, e.object_slug, e.actor) for e in entries] == [
        ("host.allow", "ray.internal", "ada"),
        ("host.refuse", "ray.internal", "ada"),
    ]
    assert entries[0].after_digest == entries[1].before_digest is not None


async def test_a_change_is_felt_by_open_clients(
    database: Database, server: Server, connect: Connect
) -> None:
    server.answers["/"] = plain()
    client = connect(AllowList(database, seconds=0))
    url = f"http://api.test:{server.port}/"
    with pytest.raises(HostRefused):
        await client.get(url)
    async with database.write() as session:
        row = await allow(session, "api.test")
    assert (await client.get(url)).is_success
    async with database.write() as session:
        await service.refuse(session, ADA, row.slug)
    with pytest.raises(HostRefused):
        await client.get(url)


async def test_the_list_is_not_read_for_every_call(
    sqlite_database: Database, count_queries: QueryCounter
) -> None:
    rules = AllowList(sqlite_database)
    with count_queries(sqlite_database) as counted:
        for _ in range(5):
            assert await rules() == []
    assert counted.count == 1


async def test_without_a_database_nothing_is_called(server: Server, connect: Connect) -> None:
    gone = Database("sqlite+aiosqlite:////nowhere/at/all.db")
    with pytest.raises(AllowListUnreadable, match="nothing was called"):
        await connect(AllowList(gone)).get(f"http://api.test:{server.port}/")
    await gone.close()
    assert server.connections == 0


async def test_an_entry_that_nobody_understands_allows_nothing(sqlite_database: Database) -> None:
    async with sqlite_database.write() as session:
        await allow(session, "api.test")
        session.add(
            AllowedHost(
                slug=new_slug("host"),
                host="0.0.0.0/0",
                created_by="old",
                created_at=utcnow(),
            )
        )
    assert [rule.text for rule in await AllowList(sqlite_database)()] == ["api.test"]


@pytest.mark.parametrize(
    ("text", "is_allowed", "zones"),
    [
        ("http://api.test:8265", True, ["loopback"]),
        ("api.test", True, ["loopback"]),
        ("https://other.test", False, ["loopback"]),
        ("https://8.8.8.8", True, ["public"]),
        ("169.254.169.254", False, ["cloud metadata"]),
        ("https://nowhere.test", False, []),
        ("ftp://api.test", False, []),
        ("https://u:hunter2@api.test", False, []),
        ("", False, []),
    ],
)
async def test_trying_an_address(
    sqlite_database: Database, text: str, is_allowed: bool, zones: list[str]
) -> None:
    async with sqlite_database.write() as session:
        await allow(session, "api.test")
    trial = await service.try_address(sqlite_database, FakeDns(DNS), text)
    assert (trial.refusal is None) is is_allowed
    assert [each.zone.value for each in trial.addresses] == zones
    assert trial.refusal is None or "hunter2" not in trial.refusal.message
