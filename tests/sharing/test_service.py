"""Links that share a run: when they open it and when they do not."""

from datetime import timedelta

import pytest
from sqlalchemy import select

from app.access import uses
from app.audit import service as audit
from app.audit.service import Filter
from app.clock import utcnow
from app.db import Database
from app.errors import Conflict, Invalid, NotFound
from app.models import RunStatus, ShareLink
from app.runs import service as runs
from app.sharing import service
from tests.factories import ADA, make_external_run
from tests.sharing.links import revoke, share


@pytest.fixture
async def run(database: Database) -> str:
    """The slug of a run."""
    async with database.write() as session:
        return (await make_external_run(session)).slug


async def opens(database: Database, secret: str, *, after: timedelta = timedelta()) -> str | None:
    """The slug of the run that a secret opens some time from now."""
    async with database.read() as session:
        found = await service.find_shared(session, secret, utcnow() + after)
    return found[1].slug if found else None


async def end(database: Database, run: str) -> None:
    async with database.write() as session:
        found = await runs.get(session, run)
        await runs.finish_external(session, found, RunStatus.SUCCEEDED, actor=ADA)
        await runs.delete(session, found, actor=ADA)


async def test_a_secret_opens_its_run_and_no_other(database: Database, run: str) -> None:
    async with database.write() as session:
        other = (await make_external_run(session, name="other")).slug
    (_, first), (_, second) = await share(database, run), await share(database, other)
    assert await opens(database, first) == run
    assert await opens(database, second) == other
    assert await opens(database, first[:-1]) is None
    assert await opens(database, "") is None


@pytest.mark.parametrize("days", service.LIFETIMES)
async def test_a_link_ends_by_itself(database: Database, run: str, days: int) -> None:
    _, secret = await share(database, run, days=days)
    moment = timedelta(minutes=1)
    assert await opens(database, secret, after=timedelta(days=days) - moment) == run
    assert await opens(database, secret, after=timedelta(days=days) + moment) is None


@pytest.mark.parametrize("days", [0, -7, 2, 91, 10**9])
async def test_no_other_lifetime_is_taken(database: Database, run: str, days: int) -> None:
    with pytest.raises(Invalid) as refused:
        await share(database, run, days=days)
    assert refused.value.problems[0].field == "days"


async def test_a_revoked_link_opens_nothing_while_others_go_on(
    database: Database, run: str
) -> None:
    (first, gone), (second, kept) = await share(database, run), await share(database, run)
    await revoke(database, run, first.slug)
    assert await opens(database, gone) is None
    assert await opens(database, kept) == run
    async with database.read() as session:
        listed = await service.list_open(session, await runs.get(session, run))
    assert [link.slug for link in listed] == [second.slug]


async def test_a_link_is_revoked_through_its_own_run_only(database: Database, run: str) -> None:
    async with database.write() as session:
        other = (await make_external_run(session, name="other")).slug
    link, secret = await share(database, run)
    with pytest.raises(NotFound):
        await revoke(database, other, link.slug)
    assert await opens(database, secret) == run


async def test_deleting_a_run_ends_its_links_for_good(database: Database, run: str) -> None:
    _, secret = await share(database, run)
    await end(database, run)
    assert await opens(database, secret) is None
    async with database.write() as session:
        await runs.restore(session, await runs.get(session, run), actor=ADA)
    assert await opens(database, secret) is None


async def test_a_deleted_run_is_not_shared(database: Database, run: str) -> None:
    await end(database, run)
    with pytest.raises(Conflict, match="restore"):
        await share(database, run)


async def test_links_do_not_pile_up(
    database: Database, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "MAX_OPEN_LINKS", 2)
    link, _ = await share(database, run)
    await share(database, run)
    with pytest.raises(Conflict, match="revoke"):
        await share(database, run)
    await revoke(database, run, link.slug)
    await share(database, run)


async def test_the_database_does_not_hold_the_secret(database: Database, run: str) -> None:
    _, secret = await share(database, run)
    async with database.read() as session:
        link = await session.scalar(select(ShareLink))
    assert link is not None
    stored = [str(getattr(link, column.key)) for column in ShareLink.__table__.columns]
    assert not any(secret in value for value in stored)


async def test_its_last_use_is_noted_once_a_minute(database: Database, run: str) -> None:
    link, secret = await share(database, run)
    now = utcnow()
    assert uses.is_due(link.last_used_at, now)
    for seconds, noted in ((0, 0), (59, 0), (61, 61)):
        async with database.write() as session:
            await service.note_use(session, link, now + timedelta(seconds=seconds))
        async with database.read() as session:
            found = await service.find_shared(session, secret)
        assert found is not None
        assert found[0].last_used_at == now + timedelta(seconds=noted)


async def test_making_and_revoking_are_in_the_audit_log(database: Database, run: str) -> None:
    link, _ = await share(database, run)
    await revoke(database, run, link.slug)
    await revoke(database, run, link.slug)
    async with database.read() as session:
        page = await audit.list_page(session, Filter(object_slug=link.slug))
        home = (await runs.get(session, run)).project_id
    rows = [entry for entry, _ in page.items]
    assert [row.action for row in rows] == ["share.revoke", "share.create"]
    assert {row.project_id for row in rows} == {home}
    assert rows[0].details == {"changed": ["revoked_at"], "run": run}
    assert rows[0].before_digest == rows[1].after_digest


async def test_the_links_that_end_with_a_run_are_in_the_audit_log(
    database: Database, run: str
) -> None:
    link, _ = await share(database, run)
    await end(database, run)
    async with database.read() as session:
        page = await audit.list_page(session, Filter(object_slug=link.slug))
    assert [entry.action for entry, _ in page.items] == ["share.revoke", "share.create"]
