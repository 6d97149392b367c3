"""Projects and their members. Which project a request means is decided here, too."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from app.access.permissions import Permission
from app.access.principal import Actor, Principal
from app.audit import service as audit
from app.audit.actions import Action
from app.audit.service import Target
from app.clock import utcnow
from app.errors import Conflict, Invalid, NotFound, Problem
from app.ids import new_id
from app.models import Project, ProjectMember, Role, User
from app.names import checked_name
from app.paging import Page, decode_id_cursor, page_of
from app.projects import repository
from app.secrets import service as secrets
from app.users import service as users
from app.users.rules import clean_name

DEFAULT = "default"
MAX_SLUG = 64
_SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
# Pages of their own, not a project's.
_RESERVED = frozenset({"new"})


@dataclass(frozen=True, slots=True)
class Member:
    """A person in a project. `is_disabled`: cannot sign in, whatever the role."""

    name: str
    role: Role
    is_disabled: bool
    since: datetime


async def get(session: AsyncSession, slug: str) -> Project:
    """Raises `NotFound`."""
    project = await repository.find(session, slug)
    if project is None:
        raise NotFound(f"there is no project {slug}")
    return project


async def ensure_default(session: AsyncSession) -> Project:
    """The project for what names none, made on first use."""
    found = await repository.find(session, DEFAULT)
    if found is not None:
        return found
    project = Project(slug=DEFAULT, name="Default", created_at=utcnow())
    try:
        async with session.begin_nested():
            session.add(project)
    except IntegrityError:
        # Another process made it between our look and our insert.
        return await get(session, DEFAULT)
    return project


async def choose(session: AsyncSession, principal: Principal, slug: str | None) -> Project:
    """The project that something new goes into: the named one, else one that suits the caller.

    That is the only one where the caller may write, else the default one. Raises `NotFound` and
    `Forbidden` as `Principal.require` does, and `Invalid` where a name is needed.
    """
    if slug == DEFAULT:
        await ensure_default(session)
    if slug:
        return await _named(session, principal, slug, Permission.WRITE)
    principal.require(Permission.WRITE)
    writable = principal.projects(Permission.WRITE)
    if writable is not None and len(writable) == 1:
        return await session.get_one(Project, next(iter(writable)))
    home = await ensure_default(session)
    if not principal.allows(Permission.WRITE, home.id):
        message = "you work in several projects: name the one that this goes into"
        raise Invalid(message, [Problem("project", "required", message)])
    return home


async def narrow(
    session: AsyncSession, principal: Principal, slug: str | None
) -> frozenset[UUID] | None:
    """The projects that a list shows: the named one, else all that may be read; None: all.

    Raises `NotFound` for one that may not be read.
    """
    if not slug:
        return principal.projects(Permission.READ)
    return frozenset({(await _named(session, principal, slug, Permission.READ)).id})


async def list_page(
    session: AsyncSession,
    *,
    projects: frozenset[UUID] | None,
    limit: int = 50,
    cursor: str | None = None,
) -> Page[Project]:
    """Newest first."""
    before = decode_id_cursor(cursor) if cursor else None
    rows = await repository.list_before(session, projects=projects, before=before, limit=limit + 1)
    return page_of(rows, limit, lambda row: [str(row.id)])


async def counts(session: AsyncSession, projects: Sequence[Project]) -> dict[UUID, tuple[int, int]]:
    """(members, runs) by project id, in two queries. Deleted runs do not count."""
    ids = [project.id for project in projects]
    members = await repository.count_members(session, ids)
    runs = await repository.count_runs(session, ids)
    return {each: (members.get(each, 0), runs.get(each, 0)) for each in ids}


async def create(
    session: AsyncSession,
    *,
    name: str,
    actor: Actor,
    slug: str | None = None,
    administrator: UUID | None = None,
) -> Project:
    """Makes a project; `slug` None takes one like its name. `administrator` is its first member.

    Raises `Invalid` for a name or slug that cannot be, or a slug that is taken.
    """
    await secrets.refuse_values(session, None, {"name": name, "slug": slug or ""})
    cleaned = checked_name(name)
    project = Project(
        id=new_id(),
        slug=_checked_slug(slug or _slug_of(cleaned)),
        name=cleaned,
        created_at=utcnow(),
    )
    try:
        async with session.begin_nested():
            session.add(project)
    except IntegrityError:
        message = f"there is a project {project.slug} already: take another short name"
        raise Invalid(message, [Problem("slug", "taken", message)]) from None
    if administrator is not None:
        _add(session, project, administrator, Role.ADMINISTRATOR)
    after = {"name": project.name, "slug": project.slug}
    audit.record(session, actor, Action.PROJECT_CREATE, _target(project), after=after)
    await session.flush()
    return project


async def rename(session: AsyncSession, project: Project, name: str, *, actor: Actor) -> Project:
    """Changes the name; the slug stays, so that addresses stay. Raises `Invalid`."""
    await secrets.refuse_values(session, None, {"name": name})
    before, after = {"name": project.name}, {"name": checked_name(name)}
    if before != after:
        project.name = after["name"]
        audit.record(
            session, actor, Action.PROJECT_RENAME, _target(project), before=before, after=after
        )
        await session.flush()
    return project


async def list_members(session: AsyncSession, project: Project) -> list[Member]:
    """By name."""
    rows = await repository.list_members(session, project.id)
    return [_member(row, person) for row, person in rows]


async def add_member(
    session: AsyncSession, project: Project, name: str, role: Role, *, actor: Actor
) -> Member:
    """Raises `Invalid` if there is no such person, or if they are a member already."""
    person = await _person(session, name)
    await repository.lock(session, project)
    if await repository.find_member(session, project.id, person.id) is not None:
        message = f"{person.name} is in this project already: change the role below"
        raise Invalid(message, [Problem("name", "member", message)])
    return await _join(session, project, person, role, actor=actor)


async def put_member(
    session: AsyncSession, project: Project, name: str, role: Role, *, actor: Actor
) -> Member:
    """Adds a person, or changes the role of a member, whose open invites into it then end.

    Raises `Invalid` if there is no such person, `Conflict` for the last administrator.
    """
    person = await _person(session, name)
    await repository.lock(session, project)
    row = await repository.find_member(session, project.id, person.id)
    if row is None:
        return await _join(session, project, person, role, actor=actor)
    if row.role is not role:
        await _keep_an_administrator(session, project, row, person)
        await users.revoke_invites_into(session, project.id, maker=person)
        before, row.role = row.role, role
        await _record(session, project, person, actor, Action.MEMBER_CHANGE, before, role)
    return _member(row, person)


async def remove_member(
    session: AsyncSession, project: Project, name: str, *, actor: Actor
) -> None:
    """Ends the person's open invites into the project, too.

    Raises `NotFound` if that person is no member, `Conflict` for the last administrator.
    """
    person = await repository.find_person(session, clean_name(name))
    await repository.lock(session, project)
    row = await repository.find_member(session, project.id, person.id) if person else None
    if person is None or row is None:
        raise NotFound(f"there is no {name} in the project {project.name}")
    await _keep_an_administrator(session, project, row, person)
    await users.revoke_invites_into(session, project.id, maker=person)
    await session.delete(row)
    await _record(session, project, person, actor, Action.MEMBER_REMOVE, row.role, None)


async def _named(
    session: AsyncSession, principal: Principal, slug: str, permission: Permission
) -> Project:
    project = await get(session, slug)
    principal.require(permission, project.id, what=f"project {slug}")
    return project


async def _join(
    session: AsyncSession, project: Project, person: User, role: Role, *, actor: Actor
) -> Member:
    row = _add(session, project, person.id, role)
    await _record(session, project, person, actor, Action.MEMBER_ADD, None, role)
    return _member(row, person)


def _add(session: AsyncSession, project: Project, user_id: UUID, role: Role) -> ProjectMember:
    row = ProjectMember(project_id=project.id, user_id=user_id, role=role, created_at=utcnow())
    session.add(row)
    return row


async def _keep_an_administrator(
    session: AsyncSession, project: Project, row: ProjectMember, person: User
) -> None:
    if row.role is not Role.ADMINISTRATOR:
        return
    if not await repository.has_other_administrator(session, project.id, row.user_id):
        raise Conflict(
            f"{person.name} is the last administrator of the project {project.name}: "
            "make somebody else an administrator first"
        )


async def _person(session: AsyncSession, name: str) -> User:
    cleaned = clean_name(name)
    person = await repository.find_person(session, cleaned)
    if person is None:
        message = f"there is no user named {cleaned!r}: names are written exactly"
        raise Invalid(message, [Problem("name", "user", message)])
    return person


async def _record(
    session: AsyncSession,
    project: Project,
    person: User,
    actor: Actor,
    action: Action,
    before: Role | None,
    after: Role | None,
) -> None:
    await session.flush()
    audit.record(
        session,
        actor,
        action,
        _target(project),
        before={"role": before.value} if before else None,
        after={"role": after.value} if after else None,
        details={"member": person.name},
    )


def _target(project: Project) -> Target:
    return Target("project", project.slug, project.id)


def _member(row: ProjectMember, person: User) -> Member:
    return Member(person.name, row.role, person.disabled_at is not None, row.created_at)


def _slug_of(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:MAX_SLUG].strip("-")


def _checked_slug(slug: str) -> str:
    if _SLUG.fullmatch(slug) and len(slug) <= MAX_SLUG and slug not in _RESERVED:
        return slug
    message = (
        f"a short name has 1 to {MAX_SLUG} of a-z, 0-9 and - between them, and is not "
        f"{' or '.join(sorted(_RESERVED))}"
    )
    raise Invalid(message, [Problem("slug", "slug", message)])
