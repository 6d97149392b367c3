"""The audit log: what a row holds, that it stays, and that readers find it."""

from collections.abc import Sequence
from datetime import timedelta

import pytest
from sqlalchemy import select, text
from sqlalchemy.exc import DBAPIError

from app.access.principal import Actor
from app.audit import service
from app.audit.actions import Action
from app.audit.repository import query_of
from app.audit.service import Filter, Target
from app.db import Database
from app.models import AuditEntry, AuditOutcome
from tests.audit.rows import NOON, add_entry, add_project, id_at

ADA = Actor("ada", "user:1", "192.0.2.7", "req-1")
RUN = Target("run", "run-1")


async def entries(database: Database, chosen: Filter | None = None) -> Sequence[AuditEntry]:
    async with database.read() as session:
        page = await service.list_page(session, chosen or Filter())
    return [row[0] for row in page.items]


async def test_a_row_names_who_where_what_and_which_fields_changed(database: Database) -> None:
    before = {"name": "a", "tags": ["x"], "status": "queued"}
    after = {"name": "b", "tags": ["x"], "status": "queued"}
    async with database.write() as session:
        service.record(session, ADA, Action.RUN_STOP, RUN, before=before, after=after)
    (row,) = await entries(database)
    assert (row.actor, row.actor_key, row.address, row.request_id) == (
        "ada",
        "user:1",
        "192.0.2.7",
        "req-1",
    )
    assert (row.action, row.outcome, row.object_kind, row.object_slug) == (
        "run.stop",
        AuditOutcome.DONE,
        "run",
        "run-1",
    )
    assert row.details == {"changed": ["name"]}
    assert row.before_digest == service.digest(before) != row.after_digest
    assert row.before_digest is not None
    assert len(row.before_digest) == 64


async def test_a_change_that_fails_leaves_no_row(database: Database) -> None:
    with pytest.raises(NotImplementedError):
        await _change_and_fail(database)
    assert await entries(database) == []


def test_the_order_of_fields_does_not_change_their_digest() -> None:
    assert service.digest({"a": 1, "b": None}) == service.digest({"b": None, "a": 1})
    assert service.digest({"a": 1}) != service.digest({"a": 2})
    assert service.digest(None) is None


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit_entry SET actor = 'nobody'",
        "DELETE FROM audit_entry",
        "UPDATE audit_entry SET details = '{}' WHERE action = 'run.stop'",
    ],
)
async def test_no_row_can_be_changed_or_removed(database: Database, statement: str) -> None:
    async with database.write() as session:
        service.record(session, ADA, Action.RUN_STOP, RUN)
    with pytest.raises(DBAPIError, match="append-only"):
        async with database.write() as session:
            await session.execute(text(statement))
    (row,) = await entries(database)
    assert row.actor == "ada"


# SQLite has no TRUNCATE.
@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
async def test_the_table_cannot_be_emptied_at_once(database: Database) -> None:
    async with database.write() as session:
        service.record(session, ADA, Action.RUN_STOP, RUN)
    with pytest.raises(DBAPIError, match="append-only"):
        async with database.write() as session:
            await session.execute(text("TRUNCATE audit_entry"))
    assert len(await entries(database)) == 1


async def test_an_object_in_memory_cannot_rewrite_its_row(database: Database) -> None:
    async with database.write() as session:
        service.record(session, ADA, Action.RUN_STOP, RUN)
    with pytest.raises(DBAPIError, match="append-only"):
        await _deny_afterwards(database)


async def test_pages_go_on_where_they_ended(database: Database) -> None:
    async with database.write() as session:
        for minute in range(7):
            add_entry(session, minute=minute, object_slug=f"run-{minute}")
    seen: list[str] = []
    cursor: str | None = None
    while True:
        async with database.read() as session:
            page = await service.list_page(session, Filter(), limit=3, cursor=cursor)
        seen += [row[0].object_slug for row in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert seen == [f"run-{minute}" for minute in reversed(range(7))]


async def test_each_filter_narrows(database: Database) -> None:
    project_id = await add_project(database, "maze")
    async with database.write() as session:
        add_entry(session, minute=0)
        add_entry(session, minute=1, actor="bob", actor_key="tok-2")
        add_entry(session, minute=2, action=Action.RUN_DELETE)
        add_entry(session, minute=3, outcome=AuditOutcome.DENIED)
        add_entry(session, minute=4, object_slug="run-2")
        add_entry(session, minute=5, project_id=project_id)

    async def minutes(chosen: Filter) -> list[int]:
        found = await entries(database, chosen)
        return [int((row.at - NOON).total_seconds() // 60) for row in found]

    assert await minutes(Filter()) == [5, 4, 3, 2, 1, 0]
    assert await minutes(Filter.by("bob")) == [1]
    assert await minutes(Filter.by("tok-2")) == [1]
    assert await minutes(Filter.by("user:1", action=Action.RUN_DELETE)) == [2]
    assert await minutes(Filter(outcome=AuditOutcome.DENIED)) == [3]
    assert await minutes(Filter(object_slug="run-2")) == [4]
    assert await minutes(Filter(project_ids=frozenset({project_id}))) == [5]
    assert await minutes(Filter(project_ids=frozenset())) == []
    since, until = NOON + timedelta(minutes=1), NOON + timedelta(minutes=3)
    assert await minutes(Filter(since=since, until=until)) == [2, 1]
    assert await minutes(Filter.by("nobody")) == []


async def test_a_row_that_is_stored_late_is_still_found_by_its_time(database: Database) -> None:
    """A long transaction: the row bears the time of the change, its id that of the commit."""
    async with database.write() as session:
        add_entry(session, id=id_at(NOON + timedelta(minutes=30)))
    until = NOON + timedelta(seconds=1)
    assert len(await entries(database, Filter(since=NOON, until=until))) == 1


async def test_what_is_done_again_and_again_leaves_one_row_a_day(database: Database) -> None:
    others = (Actor("ada", "tok-1"), Actor("ada", "tok-2"))
    for _ in range(3):
        for actor in others:
            async with database.write() as session:
                await service.record_daily(session, actor, Action.RUN_PUSH, RUN)
    assert sorted(row.actor_key for row in await entries(database)) == ["tok-1", "tok-2"]


async def test_yesterdays_row_does_not_stand_for_today(database: Database) -> None:
    async with database.write() as session:
        add_entry(session, minute=-(40 * 24 * 60), action=Action.RUN_PUSH)
    async with database.write() as session:
        await service.record_daily(session, ADA, Action.RUN_PUSH, RUN)
    assert len(await entries(database)) == 2


FILTERS = {
    "all": Filter(),
    "actor": Filter.by("ada"),
    "key": Filter.by("user:1"),
    "action": Filter(action=Action.RUN_STOP),
    "object": Filter(object_slug="run-1"),
    "outcome": Filter(outcome=AuditOutcome.DENIED),
    "time": Filter(since=NOON, until=NOON + timedelta(days=1)),
    "project": Filter(project_ids=frozenset({id_at(NOON)})),
    "all of them": Filter.by(
        "ada",
        action=Action.RUN_STOP,
        object_slug="run-1",
        outcome=AuditOutcome.DONE,
        since=NOON,
        until=NOON + timedelta(days=1),
    ),
}


@pytest.mark.parametrize("name", list(FILTERS))
async def test_a_page_reads_one_stretch_of_an_index(sqlite_database: Database, name: str) -> None:
    query = query_of(FILTERS[name], before=id_at(NOON), limit=100)
    compiled = query.compile(
        sqlite_database.engine.sync_engine, compile_kwargs={"literal_binds": True}
    )
    async with sqlite_database.read() as session:
        rows = await session.execute(text(f"EXPLAIN QUERY PLAN {compiled}"))
        plan = [str(row[-1]) for row in rows]
    entry = next(step for step in plan if "audit_entry" in step)
    assert entry.startswith("SEARCH audit_entry USING INDEX"), plan
    assert "id<" in entry, plan
    assert not any("TEMP B-TREE" in step for step in plan), plan


async def test_the_first_page_stops_when_it_is_full(sqlite_database: Database) -> None:
    compiled = query_of(Filter(), before=None, limit=100).compile(
        sqlite_database.engine.sync_engine, compile_kwargs={"literal_binds": True}
    )
    async with sqlite_database.read() as session:
        rows = await session.execute(text(f"EXPLAIN QUERY PLAN {compiled}"))
        plan = [str(row[-1]) for row in rows]
    assert any("USING INDEX" in step for step in plan if "audit_entry" in step), plan
    assert not any("TEMP B-TREE" in step for step in plan), plan


async def _change_and_fail(database: Database) -> None:
    async with database.write() as session:
        service.record(session, ADA, Action.RUN_STOP, RUN)
        raise NotImplementedError


async def _deny_afterwards(database: Database) -> None:
    async with database.write() as session:
        row = await session.scalar(select(AuditEntry))
        assert row is not None
        row.outcome = AuditOutcome.DENIED
