"""People and browsers that several tests of accounts share."""

from datetime import UTC, datetime, timedelta

from argon2 import PasswordHasher
from sqlalchemy import select

from app.access import service as access
from app.access.principal import Origin, Principal
from app.db import Database, ReadSession
from app.models import AuditEntry, AuditOutcome, Project, ProjectMember, Role, User
from app.users.devices import Device
from app.users.passwords import PasswordPool

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)
PASSWORD = "four unrelated words"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"
QUICK = PasswordPool(PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
"""Hashes in no time: for tests that are not about the hash."""


def at(address: str) -> Device:
    return Device(Origin(address, "req-1"), FIREFOX)


HOME = at("192.0.2.7")


async def add_user(
    database: Database, name: str = "ada", *, is_admin: bool = False, password: str = ""
) -> User:
    user = User(name=name, is_admin=is_admin, created_at=NOW)
    if password:
        user.password_hash = QUICK.hash_now(password)
        user.password_changed_at = NOW
    async with database.write() as session:
        session.add(user)
    return user


async def add_project(database: Database, slug: str, **roles: Role) -> Project:
    """A project with members by name, who are there already."""
    project = Project(slug=slug, name=slug.title(), created_at=NOW)
    async with database.write() as session:
        session.add(project)
        await session.flush()
        for name, role in roles.items():
            user = await session.scalar(select(User).where(User.name == name))
            assert user is not None
            session.add(
                ProjectMember(project_id=project.id, user_id=user.id, role=role, created_at=NOW)
            )
    return project


async def principal(database: Database, user: User) -> Principal:
    async with database.read() as session:
        return access.of_person(user, await access.memberships_of(session, user), HOME.origin)


async def audited(
    session: ReadSession, outcome: AuditOutcome = AuditOutcome.DONE
) -> list[AuditEntry]:
    """The rows of the audit log, oldest first."""
    query = select(AuditEntry).where(AuditEntry.outcome == outcome).order_by(AuditEntry.id)
    return list(await session.scalars(query))
