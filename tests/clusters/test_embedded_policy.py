"""Whether the embedded cluster comes up, and what an administrator agrees to."""

from typing import Literal

import pytest
from sqlalchemy import select

from app.clusters import service
from app.clusters.embedded_policy import Decision, decide
from app.db import Database
from app.models import AuditEntry, ClusterStatus
from tests.factories import ADA


@pytest.mark.parametrize(
    ("setting", "is_postgres", "people", "is_on"),
    [
        ("auto", False, 1, True),
        ("auto", False, 5, True),
        ("auto", True, 0, True),
        ("auto", True, 1, True),
        ("auto", True, 2, False),
        ("on", True, 2, True),
        ("on", False, 1, True),
        ("off", False, 1, False),
        ("off", True, 2, False),
    ],
)
def test_a_teams_is_off_unless_it_is_turned_on(
    setting: Literal["auto", "on", "off"], is_postgres: bool, people: int, is_on: bool
) -> None:
    decision = decide(setting, is_postgres=is_postgres, people_count=people)
    assert decision.is_on is is_on
    assert decision.why


async def test_what_was_decided_is_kept_until_the_next_start(sqlite_database: Database) -> None:
    async with sqlite_database.write() as session:
        cluster = await service.decide_embedded(session, Decision(is_on=False, why="a team's"))
        assert service.is_off(cluster)
        assert (cluster.status, cluster.message, cluster.due_at) == (
            ClusterStatus.STOPPED,
            "a team's",
            None,
        )
    async with sqlite_database.write() as session:
        cluster = await service.decide_embedded(session, Decision(is_on=True, why=""))
        assert not service.is_off(cluster)
        assert cluster.due_at is not None


async def test_a_head_that_was_stopped_is_not_off(sqlite_database: Database) -> None:
    async with sqlite_database.write() as session:
        cluster = await service.ensure_embedded(session)
        cluster.status = ClusterStatus.STOPPED
        assert not service.is_off(cluster)


async def test_a_consent_leaves_its_row_in_the_audit_log_and_repeating_it_none(
    sqlite_database: Database,
) -> None:
    async with sqlite_database.write() as session:
        cluster = await service.ensure_embedded(session)
        for _ in range(2):
            await service.set_consents(session, cluster, shows_secrets=True, actor=ADA)
    async with sqlite_database.read() as session:
        entry = (await session.scalars(select(AuditEntry))).one()
    assert entry.action == "cluster.change"
    assert entry.details["changed"] == ["shows_secrets"]
    assert entry.details["now"] == {"runs_member_code": False, "shows_secrets": True}
